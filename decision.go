package headgate

import (
	"time"

	"github.com/headgate/headgate/engine"
)

// Never is the RetryAfter of a cost that could not pass an untouched limit.
const Never = engine.Never

// Decision is the answer to one request. The numbers in the comments below are those of a
// limit of 10 a second with burst 10, for a request of 1 unit after 6 units were charged
// at once. Beside an error the decision is zero, and nothing in it means anything.
type Decision struct {
	// Allowed says whether the request passes: true here. A denial is a decision like any
	// other, not an error.
	Allowed bool
	// Unlimited is set where no limit applies: Limit and Remaining then mean nothing.
	Unlimited bool
	// Granted is how many units were charged: 1 here. For AtMost it is the part that
	// passed. It is 0 for a denial and for a peek.
	Granted int64
	// Limit is the capacity of the binding limit: 10.
	Limit int64
	// Remaining is how many units would still pass after this decision, rounded down: 3.
	Remaining int64
	// RetryAfter is how long until the same request passes if no other request comes,
	// rounded up to the microsecond: 0 when allowed, 100 ms when one token is missing,
	// [Never] for 11 units. A retry after exactly RetryAfter passes.
	RetryAfter time.Duration
	// ResetAfter is the time until the limit is as if untouched: 700 ms.
	ResetAfter time.Duration
	// Delay is how long an admitted caller of a [Pacer] must wait before it goes on; 0
	// for other limits.
	Delay time.Duration
	// Binding says which limit the numbers above belong to: for a denial, the limit with
	// the longest wait; otherwise, the limit with the least remaining.
	Binding Binding
	// Limits has each limit's own answer, in the order of the request, where a request
	// has more than one limit. It is nil where there is only one.
	Limits []engine.LimitOutcome
	// Paid is the name of the limit that was charged, where the first that has room pays ([Policy.First]).
	Paid string
	// At is the store's time of the decision.
	At time.Time
	// Promise says how the decision was found and how exact it is.
	Promise Promise
}

// Binding names a limit within a request.
type Binding struct {
	// Index is the limit's place in the request, from 0.
	Index int
	// Policy is the name of the policy whose limit it is; "" for an ad-hoc limit.
	Policy string
	// Name is the limit's name, as [Named] gave it, or "default".
	Name string
	// Rate is the limit's rate as written, or the window that decided, such as 5/1m. A
	// concurrency limit has units and no period.
	Rate Rate
	// Earlier is by how much the window that decided is as if untouched before
	// [Decision].ResetAfter: the difference to the longest window of a [SlidingLog], 0 for
	// other limits.
	Earlier time.Duration
}

// Promise says how a decision was found, and by how many units at most it can exceed the
// limit (0 when exact).
type Promise = engine.Promise

// Err returns nil for an allowed request and a [*DeniedError] for a denied one.
func (d Decision) Err() error {
	if d.Allowed {
		return nil
	}
	return &DeniedError{Decision: d}
}
