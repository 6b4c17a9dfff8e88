package headgate

import (
	"math"
	"time"

	"github.com/headgate/headgate/algo"
)

// Never is the RetryAfter of a cost that could not pass an untouched limit.
const Never time.Duration = math.MaxInt64

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
	// States has each limit's own answer, in the request's order, where a
	// request has more than one limit. It is nil where it has one.
	States []State
	// At is the store's time at which this was decided.
	At time.Time
	// Promise says under which promise.
	Promise Promise

	after time.Duration // see Taken
}

// Taken returns the instant to give the units back by ([Op].Taken): the store's time
// at which they count. It is At, but for limits whose state is ahead of a clock that
// was set back, and logs whose units are taken in advance. Of a request with several
// limits, each has its own: i is the limit's place.
func (d *Decision) Taken(i int) time.Time {
	if i < len(d.States) {
		return d.At.Add(d.States[i].after)
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

// State is one limit's own answer within a request against several. Its fields
// mean what they mean in a [Decision].
type State struct {
	Name       string
	Unlimited  bool
	Limit      int64
	Remaining  int64
	RetryAfter time.Duration
	ResetAfter time.Duration
	Delay      time.Duration

	after time.Duration // see Decision.Taken
}

// Promise is what an answer can be relied on for.
type Promise struct {
	// Mode is how the answer was found.
	Mode Mode
	// OvershootMax is the largest number of units by which this answer can
	// have exceeded the limit: 0 when exact, [Unbounded] where nothing bounds
	// it.
	OvershootMax int64
	// Stale is how long ago the store was asked, where the answer repeats an
	// earlier one; 0 elsewhere.
	Stale time.Duration
}

// Unbounded is the OvershootMax of an answer that was given without asking.
const Unbounded int64 = math.MaxInt64

// Mode is how an answer was found.
type Mode uint8

// The modes. Exact: in one atomic step of the store. Fallback: the store was
// away, and the failure mode answered. Split: the limits are on several nodes of
// the store, which were asked one after another; nothing is exceeded, but a
// request that is refused, or whose process dies, can hold its cost on the
// earlier ones until it is given back or their windows end. Cached: a refusal
// that this process was told before is repeated until its time is over; nothing
// is exceeded, but what others give back in between is not seen
// ([Promise].Stale says for how long at most). Leased: from units that this
// process had taken in advance; [Promise].OvershootMax says by how much the
// limit can be exceeded in any span.
const (
	Exact Mode = iota
	Fallback
	Split
	Cached
	Leased
)

// String returns the name used on the wire.
func (m Mode) String() string {
	switch m {
	case Fallback:
		return "fallback"
	case Split:
		return "split"
	case Cached:
		return "cached"
	case Leased:
		return "leased"
	default:
		return "exact"
	}
}

// Err returns nil when allowed and a [*DeniedError] when not.
func (d *Decision) Err() error {
	if d.Allowed {
		return nil
	}
	return &DeniedError{Decision: *d}
}

// Level returns how full a leaky bucket is: Limit − Remaining.
func (d *Decision) Level() int64 { return d.Limit - d.Remaining }

// Fill writes what the steps of a request came to into the decision, leaving
// States' memory in use where it suffices. It is for stores.
func (d *Decision) Fill(op *Op, steps []algo.Step, allowed bool, at time.Time) {
	if len(steps) == 1 {
		d.FillOne(op, &steps[0].Outcome, allowed, at)
		return
	}
	states := d.States[:0]
	bound := algo.Binding(steps, allowed)
	d.fill(op.Charges[bound].Limit.of(), &steps[bound].Outcome, allowed, at)
	d.Binding.Index = bound
	for i := range steps {
		d.Delay = max(d.Delay, micros(steps[i].Outcome.Delay))
		states = append(states, stateOf(op.Charges[i].Limit.of(), &steps[i].Outcome))
	}
	d.States = states
}

// FillOne is Fill for an operation on one limit.
func (d *Decision) FillOne(op *Op, o *algo.Outcome, allowed bool, at time.Time) {
	d.fill(op.Charges[0].Limit.of(), o, allowed, at)
}

func (d *Decision) fill(limit *spec, o *algo.Outcome, allowed bool, at time.Time) {
	d.Allowed, d.Unlimited, d.Granted = allowed, limit.numbers.Algorithm == algo.Unlimited, 0
	d.Limit, d.Remaining = o.Limit, o.Remaining
	d.RetryAfter, d.ResetAfter, d.Delay = waitDuration(o.Wait), micros(o.Reset), micros(o.Delay)
	d.Binding = Binding{Name: limit.Name(), Rate: limit.rate(o.Window)}
	d.States, d.At, d.Promise, d.after = nil, at, Promise{}, micros(o.After)
}

func stateOf(l *spec, o *algo.Outcome) State {
	return State{
		Name: l.Name(), Unlimited: l.numbers.Algorithm == algo.Unlimited,
		Limit: o.Limit, Remaining: o.Remaining,
		RetryAfter: waitDuration(o.Wait), ResetAfter: micros(o.Reset), Delay: micros(o.Delay), after: micros(o.After),
	}
}

func waitDuration(wait int64) time.Duration {
	if wait == algo.Never {
		return Never
	}
	return micros(wait)
}
