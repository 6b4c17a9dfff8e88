package engine

import (
	"math"
	"slices"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// Never is the RetryAfter for a cost that can never pass, because it exceeds the capacity.
const Never time.Duration = math.MaxInt64

// Answer is a store's answer to an [Op]. The binding limit of a denied operation is the limit with the longest wait. For
// an allowed operation, it is the limit with the fewest remaining units.
//
// An answer has a [Standing] for each limit: [Answer.Of], [Answer.Binds]. The first is inside the answer, and the others
// are in memory that copies of the answer share.
type Answer struct {
	// Err is set if the operation was not decided. In that case nothing was changed, unless the error is
	// [ErrOutcomeUnknown], and the other fields have no meaning.
	Err error
	// Allowed reports whether the operation passes.
	Allowed bool
	// Full is set for a denial because the store has no room for a new key. Nothing was charged, and the same cost may
	// pass later.
	Full bool
	// Found is the answer to an OpReset, OpExpiry, OpRelease or OpSettle: see [Kind].
	Found bool
	// Choice is the choice that was charged ([Charge].Choice), or 0 for a denial or an operation without choices.
	Choice uint8
	// Granted is the number of units charged.
	Granted int64
	// AtMicros is the store's time of the decision, in µs since 1970.
	AtMicros int64
	// Binding is the index of the binding limit, from 0.
	Binding int
	// Delay is the longest delay of all limits: see [Standing].
	Delay time.Duration
	// Promise describes how the answer was determined and how exact it is.
	Promise Promise
	// Dropped is set by OpSettle. It is the number of used units that could not be charged. If there are several
	// limits, it is the highest such number ([algo.Settle]).
	Dropped int64
	// TTL is set by OpExpiry: the time until the state is equivalent to no state.
	TTL time.Duration
	// ByShares is the reservation, without its id, if this process's shares were charged, alone or as well as the store,
	// and the caller may settle the charge. [Answer.Reservation] returns it. Stores leave it nil.
	ByShares *Reservation

	first Standing
	rest  []Standing // of the limits from index 1
}

// Standing is the state of one limit after an operation, as reported to callers.
type Standing struct {
	// Unlimited is set if the limit allows every request, and for a penalty that does not deny this request. In these
	// cases Limit and Remaining have no meaning.
	Unlimited bool
	// Unchosen is set for a limit of a choice that was not charged. Such a limit takes no part in the answer.
	Unchosen bool
	// AtMicros is the store's time of the decision about this limit, in µs since 1970. It is set only if it differs
	// from the answer's time because the limits are on several nodes of a Cluster. Otherwise it is 0.
	AtMicros int64
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
	// the state, or if a log's newest entry is in the future. See [Op].Handle.
	After time.Duration
	// Window is the index of the binding window, from 0.
	Window int
	// InForce is the current rate of a limit with an adaptive rate, in 1/1024 units per window. Version is the number
	// of changes of this rate since the state began. Both are 0 for other limits.
	InForce, Version int64
	// Strikes is the number of strikes of a penalty that are not forgotten.
	Strikes int64
	// HeldByAll is the number of permits that all keys of a fair-concurrency limit hold, and HeldByKey is the number that this key
	// holds. HeavyKeys is the square of HeldByAll, divided by the sum of the squares of all keys' permits and rounded down. If n
	// keys hold equal numbers, it is n. All three are 0 for other limits.
	HeldByAll, HeldByKey, HeavyKeys int64
}

// Len returns the number of standings: one for each charge of the operation.
func (a *Answer) Len() int { return 1 + len(a.rest) }

// Of returns the standing of the limit at index i, in the order of the charges.
func (a *Answer) Of(i int) *Standing {
	if i == 0 {
		return &a.first
	}
	return &a.rest[i-1]
}

// Binds returns the standing of the binding limit.
func (a *Answer) Binds() *Standing { return a.Of(a.Binding) }

// Resize gives the answer n standings, all zero. It uses the memory of [Answer.Reuse] if that is large enough.
func (a *Answer) Resize(n int) {
	a.first = Standing{}
	switch {
	case len(a.rest) > 0 || cap(a.rest) < n-1:
		a.rest = make([]Standing, n-1)
	default:
		a.rest = a.rest[:n-1]
		clear(a.rest)
	}
}

// Reuse makes the answer zero, and lends the memory of its standings to the store that fills it next. Nobody else may
// use this memory: copies of the answer share it.
func (a *Answer) Reuse() { *a = Answer{rest: a.rest[:0]} }

// Clone returns a copy of the answer that shares no memory with it.
func (a *Answer) Clone() Answer {
	clone := *a
	clone.rest = slices.Clone(a.rest)
	return clone
}

// Keep returns a copy of the answer with only the standings at the given indexes, at least one. It shares no memory
// with a. The binding limit is the first of them if they omit it.
func (a *Answer) Keep(indexes ...int) Answer {
	kept := *a
	kept.rest, kept.Binding = nil, max(0, slices.Index(indexes, a.Binding))
	kept.Resize(len(indexes))
	for n, i := range indexes {
		*kept.Of(n) = *a.Of(i)
	}
	return kept
}

// At returns the store's time of the decision.
func (a *Answer) At() time.Time { return time.UnixMicro(a.AtMicros) }

// Handle returns the handle for giving back the units of the limit at index i ([Op].Handle): the store's time from which
// they count. It equals At, except for a limit whose state is ahead of a clock that was set back, and for a log whose
// units were prefetched.
func (a *Answer) Handle(i int) time.Time { return time.UnixMicro(a.at(i)).Add(a.Of(i).After) }

// Paid returns the index of the first limit of the charged choice.
func (a *Answer) Paid(op *Op) int {
	return slices.IndexFunc(op.Charges, func(c Charge) bool { return c.Choice == a.Choice })
}

// at returns the time of the decision about the limit at index i, in µs since 1970.
func (a *Answer) at(i int) int64 {
	if own := a.Of(i).AtMicros; own != 0 {
		return own
	}
	return a.AtMicros
}

// Fill writes the results of an operation's steps into the answer.
func (a *Answer) Fill(op *Op, steps []algo.Step, allowed bool, granted, atMicros int64) {
	if len(steps) == 1 {
		a.FillOne(&steps[0].Outcome, allowed, granted, atMicros)
		a.first.Unlimited, a.first.Unchosen = op.Charges[0].Limit.Unlimited(), steps[0].Outcome.Unchosen
		if allowed {
			a.Choice = steps[0].Choice
		}
		return
	}
	a.decided(allowed, granted, atMicros)
	a.Resize(len(steps))
	a.Binding = algo.Binding(steps, allowed)
	a.Delay = Micros(steps[a.Binding].Outcome.Delay)
	for i := range steps {
		s := a.Of(i)
		s.fill(&steps[i].Outcome)
		limit := op.Charges[i].Limit
		s.Unlimited = limit.Unlimited() || limit.Punishes() && steps[i].Outcome.Wait == 0
		if s.Unchosen = steps[i].Outcome.Unchosen; s.Unchosen {
			continue
		}
		a.Delay = max(a.Delay, s.Delay)
		if allowed {
			a.Choice = max(a.Choice, steps[i].Choice)
		}
	}
}

// FillOne is like Fill, for an operation on one limit that is not unlimited.
func (a *Answer) FillOne(from *algo.Outcome, allowed bool, granted, atMicros int64) {
	a.decided(allowed, granted, atMicros)
	a.first.fill(from)
	a.rest, a.Delay = nil, a.first.Delay
}

// decided sets the fields that every decision has, and clears those that only some have.
func (a *Answer) decided(allowed bool, granted, atMicros int64) {
	a.Allowed, a.Granted, a.AtMicros, a.Binding = allowed, granted, atMicros, 0
	a.Promise, a.Dropped, a.ByShares, a.Choice, a.Full = Promise{}, 0, nil, 0, false
}

// Rate returns the rate of the limit's window that decided, as written, or in whole units the rate in force of a limit
// whose rate adapts.
func (s *Standing) Rate(of Limit) Rate {
	rate := of.Rate(s.Window)
	if s.InForce > 0 {
		rate.Count = s.InForce / algo.RateScale
	}
	return rate
}

func (s *Standing) fill(from *algo.Outcome) {
	s.Unlimited, s.Unchosen, s.AtMicros = false, false, 0
	s.Limit, s.Remaining, s.Window = from.Limit, from.Remaining, from.Window
	s.RetryAfter, s.ResetAfter = waitDuration(from.Wait), Micros(from.Reset)
	s.Delay, s.After = Micros(from.Delay), Micros(from.After)
	s.InForce, s.Version, s.Strikes = from.Rate, from.Version, from.Strikes
	s.HeldByAll, s.HeldByKey, s.HeavyKeys = from.HeldByAll, from.HeldByKey, from.HeavyKeys
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

// Fail sets the error of every answer that has none.
func Fail(answers []Answer, err error) {
	for i := range answers {
		if answers[i].Err == nil {
			answers[i].Err = err
		}
	}
}
