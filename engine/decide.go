package engine

import (
	"strings"

	"github.com/headgate/headgate/engine/algo"
)

// Every store does the same with an operation: it makes the steps, puts the states
// in, decides, and reads the outcome from the steps ([Outcome.Fill]).

// Step returns the step of one of the operation's charges, with no state in it.
func (o *Op) Step(i int) algo.Step {
	c := &o.Charges[i]
	return algo.Step{Limit: c.Limit.Numbers(), Cost: c.Cost, Taken: o.TakenMicros(), Share: o.Share, Ahead: o.Ahead.Microseconds()}
}

// TakenMicros is Taken in µs since 1970, and 0 where that is zero.
func (o *Op) TakenMicros() int64 {
	if o.Taken.IsZero() {
		return 0
	}
	return o.Taken.UnixMicro()
}

// Units returns the units that the operation asks for: its largest cost.
func (o *Op) Units() (units int64) {
	for i := range o.Charges {
		units = max(units, o.Charges[i].Cost)
	}
	return units
}

// Decide runs the operation on its steps, which hold the states. It decides allow,
// at most, peek, give, acquire and renew; the other kinds need no decision.
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
	case OpGive:
		algo.Give(steps, now)
		return true, 0
	case OpAcquire:
		allowed = algo.Acquire(steps, now, strings.Clone(o.ID)) // the state keeps it
	case OpRenew:
		return algo.Renew(steps, now, strings.Clone(o.ID)), 0
	}
	if allowed {
		granted = o.Units()
	}
	return allowed, granted
}
