package engine

import (
	"math"
	"slices"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// Never is the RetryAfter for a cost that can never pass, because it exceeds the capacity.
const Never time.Duration = math.MaxInt64

// Result is the answer to an [Op].
type Result struct {
	// Outcome is the answer. It is valid if Err is nil.
	Outcome Outcome
	// Found is the result of an OpReset, OpExpiry, OpRelease or OpSettle: see [Kind].
	Found bool
	// TTL is set by OpExpiry: the time until the state is equivalent to no state.
	TTL time.Duration
	// Err is set if the operation was not decided. In that case nothing was changed, unless the error is
	// [ErrOutcomeUnknown].
	Err error
}

// Outcome is a store's decision. The binding limit of a denied operation is the limit with the longest wait. For an
// allowed operation, it is the limit with the fewest remaining units.
type Outcome struct {
	// Allowed reports whether the operation passes.
	Allowed bool
	// Granted is the number of units charged.
	Granted int64
	// AtMicros is the store's time of the decision, in µs since 1970.
	AtMicros int64
	// Binding is the index of the binding limit, from 0.
	Binding int
	// Choice is the choice that was charged ([Charge].Choice), or 0 for a denial or an operation without choices.
	Choice uint8
	// Full is set for a denial because the store has no room for a new key. Nothing was charged, and the same cost may
	// pass later.
	Full bool
	// Standing describes the binding limit, except for Delay, which is the longest delay of all limits.
	Standing
	// Limits contains each limit's answer, in the order of the charges. It is nil if there is only one limit.
	Limits []LimitOutcome
	// Promise describes how the outcome was determined and how exact it is.
	Promise Promise
	// Dropped is set by OpSettle. It is the number of used units that could not be charged. If there are several
	// limits, it is the highest such number ([algo.Settle]).
	Dropped int64
	// ByShares contains the charges to this process's shares, if the caller may settle them. It is nil if only the
	// store was charged. [Outcome.Reservation] includes these charges. Stores leave it nil.
	ByShares *Reservation
}

// Standing is the state of one limit after an operation, as reported to callers.
type Standing struct {
	// Limit is the capacity: the burst of a bucket, the limit of the binding window.
	Limit int64
	// Remaining is the number of units left, rounded down.
	Remaining int64
	// RetryAfter is the time until the cost passes. It is 0 if the cost passes now, and [Never] if it never can.
	RetryAfter time.Duration
	// ResetAfter is the time until all units of the limit are available again.
	ResetAfter time.Duration
	// Delay is the time that an admitted caller of a pacer must wait, or the caller of a reserve whose units refill
	// later. In a denied OpReserve, it is the delay that would have been necessary.
	Delay time.Duration
	// After is the time from the decision until the charged units count. It is above 0 if the clock is earlier than
	// the state, or if a log's newest entry is in the future. See [Op].Taken.
	After time.Duration
	// Window is the index of the binding window, from 0.
	Window int
	// InForce is the current rate of a limit with an adaptive rate, in 1/1024 units per window. Version is the number
	// of changes of this rate since the state began. Both are 0 for other limits.
	InForce, Version int64
	// Strikes is the number of strikes of a penalty that are not forgotten.
	Strikes int64
	// Held is the number of permits that all keys of a fair-concurrency limit hold, and Own is the number that this key
	// holds. Heavy is the square of Held, divided by the sum of the squares of all keys' permits and rounded down. If n
	// keys hold equal numbers, it is n. All three are 0 for other limits.
	Held, Own, Heavy int64
}

// LimitOutcome is the answer for one limit of an operation.
type LimitOutcome struct {
	// Name is the limit's name.
	Name string
	// Unlimited is set if the limit allows every request, and for a penalty that does not deny this request. In these
	// cases Limit and Remaining have no meaning.
	Unlimited bool
	// AtMicros is the store's time of the decision about this limit, in µs since 1970. It is set only if it differs
	// from the outcome's time because the limits are on several nodes of a Cluster. Otherwise it is 0.
	AtMicros int64
	// Aside is set for a limit of a choice that was not charged. Such a limit takes no part in the answer.
	Aside bool
	Standing
}

// At returns the store's time of the decision.
func (o *Outcome) At() time.Time { return time.UnixMicro(o.AtMicros) }

// Taken returns the handle for giving back the units of the limit at index i ([Op].Taken): the store's time from which
// they count. It equals At, except for a limit whose state is ahead of a clock that was set back, and for a log whose
// units were prefetched.
func (o *Outcome) Taken(i int) time.Time {
	at := time.UnixMicro(o.at(i))
	if i < len(o.Limits) {
		return at.Add(o.Limits[i].After)
	}
	return at.Add(o.After)
}

// Paid returns the index of the first limit of the charged choice.
func (o *Outcome) Paid(op *Op) int {
	return slices.IndexFunc(op.Charges, func(c Charge) bool { return c.Choice == o.Choice })
}

// at returns the time of the decision about the limit at index i, in µs since 1970.
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
		limits = append(limits, LimitOutcome{
			Name: limit.Name(), Aside: steps[i].Outcome.Aside,
			Unlimited: limit.Unlimited() || limit.Punishes() && steps[i].Outcome.Wait == 0,
		})
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

// FillOne is like Fill, for an operation on one limit.
func (o *Outcome) FillOne(from *algo.Outcome, allowed bool, granted, atMicros int64) {
	o.Allowed, o.Granted, o.AtMicros, o.Binding = allowed, granted, atMicros, 0
	o.Limits, o.Promise, o.Dropped, o.ByShares, o.Choice, o.Full = nil, Promise{}, 0, nil, 0, false
	o.Standing.fill(from)
}

func (s *Standing) fill(from *algo.Outcome) {
	s.Limit, s.Remaining, s.Window = from.Limit, from.Remaining, from.Window
	s.RetryAfter, s.ResetAfter = waitDuration(from.Wait), Micros(from.Reset)
	s.Delay, s.After = Micros(from.Delay), Micros(from.After)
	s.InForce, s.Version, s.Strikes = from.Rate, from.Version, from.Strikes
	s.Held, s.Own, s.Heavy = from.Held, from.Own, from.Heavy
}

func waitDuration(wait int64) time.Duration {
	if wait == algo.Never {
		return Never
	}
	return Micros(wait)
}

// Micros converts a number of microseconds from an answer to a duration. It caps the result at 2^63 − 1 ns, about 292
// years. If a clock is set back by centuries, the time until a reset can be longer than that.
func Micros(n int64) time.Duration {
	return time.Duration(min(n, int64(math.MaxInt64/time.Microsecond))) * time.Microsecond
}
