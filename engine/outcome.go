package engine

import (
	"math"
	"slices"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// Never is the RetryAfter of a cost that could not pass an untouched limit.
const Never time.Duration = math.MaxInt64

// Result is the answer to an [Op].
type Result struct {
	// Outcome is the answer, valid where Err is nil.
	Outcome Outcome
	// Found answers OpReset, OpExpiry, OpRelease and OpSettle.
	Found bool
	// TTL answers OpExpiry: the time until the state equals no state.
	TTL time.Duration
	// Err is set where the operation was not decided. Then nothing was changed, unless
	// the error is [ErrOutcomeUnknown].
	Err error
}

// Outcome is what a store decided. For a denied operation the binding limit is the one
// with the longest wait; for an allowed one, the one with the least remaining.
type Outcome struct {
	// Allowed says whether the operation passes.
	Allowed bool
	// Granted is how many units were charged.
	Granted int64
	// AtMicros is the store's time of the decision, in µs since 1970.
	AtMicros int64
	// Binding is the place of the binding limit, from 0.
	Binding int
	// Choice is the choice that was charged ([Charge].Choice); 0 for a denial, and where there are none.
	Choice uint8
	// Standing is the standing of the binding limit, except Delay, which is the longest
	// of all limits.
	Standing
	// Limits has each limit's own answer in the order of the charges, if there are
	// several. It is nil if there is one.
	Limits []LimitOutcome
	// Promise says how the outcome was found and how exact it is.
	Promise Promise
	// Dropped answers OpSettle: the most units of one limit that were used and could not be charged
	// ([algo.Settle]).
	Dropped int64
	// Pending answers OpReserve with ceilings ([Term].Ceilings): how many units of each limit the open
	// reservations of its counter can still charge, this one included, by the place of the charge. The limit
	// can be exceeded by so many.
	Pending []int64
	// ByShares is what shares of the process were charged, if its caller may settle that: nil where
	// the store alone was. [Outcome.Reservation] has it. Stores leave it nil.
	ByShares *Reservation
}

// Standing is the state of one limit after an operation, in the caller's terms.
type Standing struct {
	// Limit is the capacity: the burst of a bucket, the limit of the binding window.
	Limit int64
	// Remaining is how many units are left, rounded down.
	Remaining int64
	// RetryAfter is 0 if the cost passes, [Never] if it never can, and otherwise how long
	// until it passes.
	RetryAfter time.Duration
	// ResetAfter is the time until the limit is as if untouched.
	ResetAfter time.Duration
	// Delay is how long an admitted caller of a pacer must wait before it goes on.
	Delay time.Duration
	// After is how long after the decision the charged units count: above 0 if the clock
	// is behind the state, or if a log's newest entry lies ahead. See [Op].Taken.
	After time.Duration
	// Window is the place of the binding window, from 0.
	Window int
}

// LimitOutcome is the answer of one of an operation's limits.
type LimitOutcome struct {
	// Name is the limit's name.
	Name string
	// Unlimited is set if the limit allows every request: Limit and Remaining then mean
	// nothing.
	Unlimited bool
	// AtMicros is the store's time of the decision about this limit, in µs since 1970, if that is
	// another one than the outcome's: the limits are on several nodes of a Cluster. Otherwise it is 0.
	AtMicros int64
	// Aside is set for a limit of a choice that was not made: it takes no part in the answer.
	Aside bool
	Standing
}

// At returns the store's time of the decision.
func (o *Outcome) At() time.Time { return time.UnixMicro(o.AtMicros) }

// Taken returns the handle for giving back the units of the limit at place i
// ([Op].Taken): the store's time at which they count. It equals At, except for two cases:
// a limit whose state is ahead of a clock that was set back, and a log whose units were
// taken ahead.
func (o *Outcome) Taken(i int) time.Time {
	at := time.UnixMicro(o.at(i))
	if i < len(o.Limits) {
		return at.Add(o.Limits[i].After)
	}
	return at.Add(o.After)
}

// Paid returns the place of the first limit of the choice that was charged.
func (o *Outcome) Paid(op *Op) int {
	return slices.IndexFunc(op.Charges, func(c Charge) bool { return c.Choice == o.Choice })
}

// at returns when the limit at place i was decided.
func (o *Outcome) at(i int) int64 {
	if i < len(o.Limits) && o.Limits[i].AtMicros != 0 {
		return o.Limits[i].AtMicros
	}
	return o.AtMicros
}

// Fill writes the results of an operation's steps into the outcome.
func (o *Outcome) Fill(op *Op, steps []algo.Step, allowed bool, granted, atMicros int64) {
	if len(steps) == 1 {
		if o.FillOne(&steps[0].Outcome, allowed, granted, atMicros); allowed {
			o.Choice = steps[0].Choice
		}
		return
	}
	limits, binding := make([]LimitOutcome, 0, len(steps)), algo.Binding(steps, allowed)
	o.FillOne(&steps[binding].Outcome, allowed, granted, atMicros)
	o.Binding = binding
	for i := range steps {
		limit := op.Charges[i].Limit
		limits = append(limits, LimitOutcome{Name: limit.Name(), Unlimited: limit.Unlimited(), Aside: steps[i].Outcome.Aside})
		limits[i].fill(&steps[i].Outcome)
		if limits[i].Aside {
			continue
		}
		o.Delay = max(o.Delay, limits[i].Delay)
		if allowed {
			o.Choice = max(o.Choice, steps[i].Choice)
		}
	}
	o.Limits = limits
}

// FillOne is Fill for an operation on one limit.
func (o *Outcome) FillOne(from *algo.Outcome, allowed bool, granted, atMicros int64) {
	o.Allowed, o.Granted, o.AtMicros, o.Binding = allowed, granted, atMicros, 0
	o.Limits, o.Promise, o.Dropped, o.ByShares, o.Choice = nil, Promise{}, 0, nil, 0
	o.Standing.fill(from)
}

func (s *Standing) fill(from *algo.Outcome) {
	s.Limit, s.Remaining, s.Window = from.Limit, from.Remaining, from.Window
	s.RetryAfter, s.ResetAfter = waitDuration(from.Wait), micros(from.Reset)
	s.Delay, s.After = micros(from.Delay), micros(from.After)
}

func waitDuration(wait int64) time.Duration {
	if wait == algo.Never {
		return Never
	}
	return micros(wait)
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
