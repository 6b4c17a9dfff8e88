package engine

import (
	"strings"

	"github.com/headgate/headgate/engine/algo"
)

// Every store handles an operation the same way: it creates the steps, fills in the states, decides, and reads the
// outcome from the steps ([Answer.Fill]).

// Step returns the step for the operation's charge at index i, without a state. The store sets [algo.Step].KeyHash.
func (o *Op) Step(i int) algo.Step {
	c := &o.Charges[i]
	s := algo.Step{Limit: c.Limit.Numbers(), Cost: c.Cost, Report: c.Report, Choice: c.Choice, Share: o.Share, Ahead: o.Ahead.Microseconds()}
	switch o.Kind {
	case OpReserve:
		s.Holder = o.ID
	case OpGive:
		if !o.Handle.IsZero() {
			s.Held = &algo.Held{At: o.Handle.UnixMicro()}
		}
	case OpSettle:
		s.Held, s.Holder = &o.Reservation.Limits[i].Held, o.ID
	}
	return s
}

// Units returns the operation's largest cost, in units.
func (o *Op) Units() (units int64) {
	for i := range o.Charges {
		units = max(units, o.Charges[i].Cost)
	}
	return units
}

// Decide runs the operation on its steps, which contain the states. It reports whether the operation passes, and how
// many units it charged. It is for allow, at most, peek, give, count, reserve, acquire and renew. The other kinds need
// no decision.
func (o *Op) Decide(steps []algo.Step, now algo.Instant) (allowed bool, granted int64) {
	allowed = true
	switch o.Kind {
	case OpAllow:
		allowed = algo.Allow(steps, now)
	case OpAtMost:
		granted = algo.AtMost(steps, now)
		return granted > 0 || o.Units() == 0, granted
	case OpPeek:
		return algo.Peek(steps, now), 0
	case OpCount:
		return algo.Count(&steps[0], now)
	case OpGive:
		algo.Give(steps, now)
		return true, 0
	case OpReserve:
		allowed = algo.Reserve(steps, now, o.Ahead.Microseconds())
	case OpAcquire:
		allowed = algo.Acquire(steps, now, strings.Clone(o.ID)) // the state retains the id
	case OpRenew:
		return algo.Renew(steps, now, strings.Clone(o.ID)), 0
	}
	if allowed {
		granted = o.Granted(steps)
	}
	return allowed, granted
}

// Adapts reports whether one of the limits has a rate that adapts to reported outcomes.
func (o *Op) Adapts() bool {
	for i := range o.Charges {
		if o.Charges[i].Limit.Algorithm().Adapts() {
			return true
		}
	}
	return false
}

// Granted returns the number of units charged by an operation that is allowed in full: the largest cost of its steps
// that are not marked Unchosen.
func (o *Op) Granted(steps []algo.Step) (units int64) {
	for i := range o.Charges {
		if !steps[i].Outcome.Unchosen {
			units = max(units, o.Charges[i].Cost)
		}
	}
	return units
}
