package engine

import (
	"math"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// Never is the RetryAfter of a cost that could not pass an untouched limit.
const Never time.Duration = math.MaxInt64

// Result is the answer to an [Op].
type Result struct {
	// Outcome is the answer, valid where Err is nil.
	Outcome Outcome
	// Found answers OpReset, OpExpiry and OpRelease.
	Found bool
	// TTL answers OpExpiry: the time until the state equals absence.
	TTL time.Duration
	// Err is set where the operation was not decided. Nothing was changed then,
	// unless the error is [ErrOutcomeUnknown].
	Err error
}

// Outcome is what a store decided. The limit that binds is the one with the longest
// wait where the operation is refused, and the one with the least remaining where it
// is allowed.
type Outcome struct {
	// Allowed is whether the operation passes.
	Allowed bool
	// Granted is how many units were charged.
	Granted int64
	// AtMicros is the store's time of the decision, in µs since 1970.
	AtMicros int64
	// Binding is the place of the limit that binds, from 0.
	Binding int
	// Standing is how that limit stands, but for Delay: that is the longest of all.
	Standing
	// Limits has each limit's own answer in the order of the charges, where there are
	// several. It is nil where there is one.
	Limits []LimitOutcome
	// Promise says what can be relied on.
	Promise Promise
}

// Standing is how one limit stands after an operation.
type Standing struct {
	// Limit is the capacity: the burst of a bucket, the limit of the binding window.
	Limit int64
	// Remaining is how many units are left, rounded down.
	Remaining int64
	// RetryAfter is 0 where the cost passes, and [Never] where it never can.
	RetryAfter time.Duration
	// ResetAfter is the time until the limit is as untouched.
	ResetAfter time.Duration
	// Delay is how long an admitted caller of a pacer waits before going on.
	Delay time.Duration
	// After is how far after the decision its units count: where the clock is behind
	// the state, or a log's newest entry lies ahead. See [Op].Taken.
	After time.Duration
	// Window is the place of the binding window, from 0.
	Window int
}

// LimitOutcome is the answer of one of an operation's limits.
type LimitOutcome struct {
	// Name is the limit's name.
	Name string
	// Unlimited is set where the limit admits everything: Limit and Remaining then
	// mean nothing.
	Unlimited bool
	Standing
}

// At returns the store's time of the decision.
func (o *Outcome) At() time.Time { return time.UnixMicro(o.AtMicros) }

// Taken returns the instant to give the units of the limit at a place back by
// ([Op].Taken): the store's time at which they count. It is At, but for limits whose
// state is ahead of a clock that was set back, and logs whose units are taken ahead.
func (o *Outcome) Taken(i int) time.Time {
	if i < len(o.Limits) {
		return o.At().Add(o.Limits[i].After)
	}
	return o.At().Add(o.After)
}

// Fill writes what the steps of an operation came to into the outcome.
func (o *Outcome) Fill(op *Op, steps []algo.Step, allowed bool, granted, atMicros int64) {
	if len(steps) == 1 {
		o.FillOne(&steps[0].Outcome, allowed, granted, atMicros)
		return
	}
	limits, binding := make([]LimitOutcome, 0, len(steps)), algo.Binding(steps, allowed)
	o.FillOne(&steps[binding].Outcome, allowed, granted, atMicros)
	o.Binding = binding
	for i := range steps {
		limit := op.Charges[i].Limit
		limits = append(limits, LimitOutcome{Name: limit.Name(), Unlimited: limit.Unlimited()})
		limits[i].fill(&steps[i].Outcome)
		o.Delay = max(o.Delay, limits[i].Delay)
	}
	o.Limits = limits
}

// FillOne is Fill for an operation on one limit.
func (o *Outcome) FillOne(from *algo.Outcome, allowed bool, granted, atMicros int64) {
	o.Allowed, o.Granted, o.AtMicros, o.Binding = allowed, granted, atMicros, 0
	o.Limits, o.Promise = nil, Promise{}
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
