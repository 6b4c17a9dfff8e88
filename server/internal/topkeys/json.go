package topkeys

import (
	"net/http"
	"slices"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/server/internal/adminapi"
)

// JSON converts c to the API's form. The argument span is the time covered by the report that contains c.
func (c *Count) JSON(span time.Duration) adminapi.TopKey {
	return adminapi.TopKey{
		Policy: c.Policy, KeyFields: adminapi.NewKey(c.Key), KeyHash: adminapi.KeyHash(c.Key), Count: c.Count, Least: c.Least, Most: c.Most,
		Rate: float64(c.Count) / max(span.Seconds(), 1),
	}
}

// JSON returns a report on events of one kind in the API's form.
func (r *Report) JSON(by Events) adminapi.TopKeys {
	answer := adminapi.TopKeys{By: by.String(), Span: r.Span.Seconds(), Sampled: r.Sampled, Keys: []adminapi.TopKey{}}
	for i := range r.Top {
		answer.Keys = append(answer.Keys, r.Top[i].JSON(r.Span))
	}
	return answer
}

// ReadBy returns the kind of events that the query parameter "by" selects. Its value must be one of the accepted
// words.
func ReadBy(r *http.Request, accepted ...string) (Events, error) {
	by, err := adminapi.Word(r, "by", accepted...)
	return Events(slices.Index(Words[:], by)), err
}

// JSON returns an event under a policy in the API's form.
func (e *Event) JSON(policy string) adminapi.Decided {
	d := adminapi.Decided{
		Policy: policy, At: e.At.UTC(), Outcome: adminapi.Denied, Mode: e.Mode.String(), Cost: e.Cost, Limit: e.Limit, Remaining: e.Remaining,
		FrontEnd: e.From, Counts: e.Counts,
	}
	switch {
	case e.Failed:
		d.Outcome, d.Mode = adminapi.Failed, ""
	case e.Allowed:
		d.Outcome = adminapi.Allowed
	case e.RetryAfter != engine.Never:
		retry := format.Millis(e.RetryAfter)
		d.RetryAfter = &retry
	}
	return d
}

// TimelineJSON returns the last decisions on a key under the given policies, the latest first. The arguments keys are
// all names under which the key may be counted, such as its hashes.
func (t *Tracker) TimelineJSON(policies []string, keys ...string) adminapi.Timeline {
	answer := adminapi.Timeline{Decisions: []adminapi.Decided{}}
	for _, policy := range policies {
		for _, key := range keys {
			for _, e := range t.Timeline(policy, key) {
				answer.Decisions = append(answer.Decisions, e.JSON(policy))
			}
		}
	}
	slices.SortStableFunc(answer.Decisions, func(a, b adminapi.Decided) int { return b.At.Compare(a.At) })
	return answer
}
