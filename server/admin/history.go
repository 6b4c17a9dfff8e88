package admin

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"
)

// maxActions is how many actions are kept. One more takes the place of the oldest.
const maxActions = 500

// action is what an operator did by this listener.
type action struct {
	At     time.Time `json:"at"`
	Action string    `json:"action"`
	Policy string    `json:"policy,omitempty"`
	keyFields

	Author string `json:"author,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Fields and Expires are those of a change, Units those that were given back.
	Fields  json.RawMessage `json:"fields,omitempty"`
	Expires time.Time       `json:"expires,omitzero"`
	Units   *int64          `json:"units,omitempty"`
}

// history is the last actions. The log has all of them, as lines audit.
type history struct {
	mu      sync.Mutex
	actions []action
}

func (h *history) add(a action) {
	a.At = time.Now().UTC().Truncate(time.Millisecond)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.actions) == maxActions {
		h.actions = append(h.actions[:0], h.actions[1:]...)
	}
	h.actions = append(h.actions, a)
}

// listHistory answers the last actions, the latest first.
func (a *api) listHistory(http.ResponseWriter, *http.Request) (any, error) {
	a.history.mu.Lock()
	defer a.history.mu.Unlock()
	actions := append([]action{}, a.history.actions...)
	slices.Reverse(actions)
	return struct {
		Actions []action `json:"actions"`
	}{actions}, nil
}
