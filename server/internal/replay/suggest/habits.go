package suggest

import (
	"strconv"

	"github.com/headgate/headgate/server/internal/replay/accesslog"
	"github.com/headgate/headgate/server/internal/replay/simulate"
)

// habitsFrom is the minimum number of requests of a key whose habits are recorded. Keys with fewer requests are never
// outliers.
const habitsFrom = atLeast / 2

// maxHabits is the maximum number of keys whose habits are recorded. Each needs about 300 bytes.
const maxHabits = 200_000

// habits are a key's most frequent paths, statuses and User-Agents.
type habits struct{ paths, statuses, agents simulate.Frequent }

// texts numbers the strings in the habits of all keys.
type texts struct{ paths, statuses, agents simulate.Patterns }

func newTexts() texts {
	return texts{simulate.NewPatterns(), simulate.NewPatterns(), simulate.NewPatterns()}
}

// add counts a request's path, status and User-Agent.
func (h *habits) add(q *accesslog.Request, t *texts) {
	h.paths.Add(t.paths.Of(q.Method, q.Path))
	if q.Status > 0 {
		h.statuses.Add(t.statuses.Number(strconv.Itoa(q.Status)))
	}
	if q.Agent != "" {
		h.agents.Add(t.agents.Number(q.Agent))
	}
}

// did returns the most frequent path, status and User-Agent.
func (h *habits) did(t *texts) (d Did) {
	if h == nil {
		return d
	}
	if list := h.paths.List(&t.paths); len(list) > 0 {
		d.Path = list[0].Pattern
	}
	if list := h.agents.List(&t.agents); len(list) > 0 {
		d.Agent = list[0].Pattern
	}
	if list := h.statuses.List(&t.statuses); len(list) > 0 {
		d.Status, _ = strconv.Atoi(list[0].Pattern)
	}
	return d
}
