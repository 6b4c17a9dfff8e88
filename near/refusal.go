package near

import (
	"time"

	"github.com/headgate/headgate"
)

// refusal is what the store said of one unit, and when.
type refusal struct {
	limit    headgate.Limit
	sent     time.Time // the store was asked after it
	heard    time.Time // and had answered before it
	until    time.Time // it is repeated before it
	decision headgate.Decision
}

// keep returns the refusal that a decision is, for as long as it may be
// repeated: from when it was sent, since it was decided later.
func keep(limit headgate.Limit, d *headgate.Decision, sent, heard time.Time, maxStale time.Duration) refusal {
	r := refusal{limit: limit, sent: sent, heard: heard, until: sent.Add(min(d.RetryAfter, maxStale)), decision: *d}
	r.decision.States = nil
	return r
}

// at returns the refusal as it is at an instant: waits are shorter by the time
// since it was heard, which is no longer than that since it was decided, so that
// a retry at the wait passes.
func (r *refusal) at(now time.Time) headgate.Decision {
	d := r.decision
	age := now.Sub(r.heard).Truncate(time.Microsecond)
	d.RetryAfter -= age
	d.ResetAfter = max(0, d.ResetAfter-age)
	d.At = d.At.Add(age)
	d.Promise = headgate.Promise{Mode: headgate.Cached, Stale: now.Sub(r.sent)}
	return d
}
