package headgate

import (
	"time"

	"github.com/headgate/headgate/engine"
)

// Never is the RetryAfter of a cost that could not pass an untouched limit.
const Never = engine.Never

// Decision is the answer to one request. The numbers below are those of a limit
// of 10 a second with burst 10, asked for 1 unit after 6 were taken at once.
type Decision struct {
	// Allowed: true. Refused is a decision like any other, not an error.
	Allowed bool
	// Unlimited is set where nothing limits the request: Limit and Remaining
	// then mean nothing.
	Unlimited bool
	// Granted is how many units were charged: 1, what AtMost got, 0 when
	// refused or peeking.
	Granted int64
	// Limit is the capacity of the binding limit: 10.
	Limit int64
	// Remaining is how many units are left after this answer, rounded down: 3.
	Remaining int64
	// RetryAfter is when the same request passes if nobody else comes, rounded
	// up to the microsecond: 0 when allowed, 100 ms one unit too late, [Never]
	// for 11 units. A retry at exactly RetryAfter passes.
	RetryAfter time.Duration
	// ResetAfter is the time until the limit is as untouched: 700 ms.
	ResetAfter time.Duration
	// Delay is how long an admitted caller of a [Pacer] waits before going on;
	// 0 elsewhere.
	Delay time.Duration
	// Binding says which limit the numbers above are of: refused, the one with
	// the longest wait; allowed, the one with the least remaining.
	Binding Binding
	// Limits has each limit's own answer, in the request's order, where a request
	// has more than one limit. It is nil where it has one.
	Limits []LimitDecision
	// At is the store's time at which this was decided.
	At time.Time
	// Promise says under which promise.
	Promise Promise

	after time.Duration // see Taken
}

// Taken returns the instant to give the units back by ([engine.Op].Taken): the store's
// time at which they count. It is At, but for limits whose state is ahead of a clock that
// was set back, and logs whose units are taken in advance. Of a request with several
// limits, each has its own: i is the limit's place.
func (d *Decision) Taken(i int) time.Time {
	if i < len(d.Limits) {
		return d.At.Add(d.Limits[i].After)
	}
	return d.At.Add(d.after)
}

// Binding names a limit within a request.
type Binding struct {
	// Index is the limit's place in the request, from 0.
	Index int
	// Name is the limit's name: "default".
	Name string
	// Rate is the limit's rate as written, or the window that decided.
	Rate Rate
}

// LimitDecision is one limit's own answer within a request against several.
type LimitDecision = engine.LimitOutcome

// Promise is what an answer can be relied on for: how it was found, and by how many
// units at most it can have exceeded the limit (0 when exact).
type Promise = engine.Promise

// Err returns nil when allowed and a [*DeniedError] when not.
func (d Decision) Err() error {
	if d.Allowed {
		return nil
	}
	return &DeniedError{Decision: d}
}
