package headgate

import (
	"strings"

	"github.com/headgate/headgate/algo"
)

// What every store does alike with an operation: it makes its steps, puts the
// states in, decides, and reads the decision from them ([Decision.Fill]).

// Step returns the step of one of the operation's charges, with no state in it.
// It is for stores.
func (o *Op) Step(i int) algo.Step {
	c := &o.Charges[i]
	return algo.Step{Limit: c.Limit.Numbers(), Cost: c.Cost, Taken: o.TakenMicros(), Share: o.Share, Ahead: o.Ahead.Microseconds()}
}

// TakenMicros is Taken in µs since 1970, and 0 where that is zero. It is for
// stores.
func (o *Op) TakenMicros() int64 {
	if o.Taken.IsZero() {
		return 0
	}
	return o.Taken.UnixMicro()
}

// Units returns the units that the operation asks for: its largest cost. It is
// for stores.
func (o *Op) Units() (units int64) {
	for i := range o.Charges {
		units = max(units, o.Charges[i].Cost)
	}
	return units
}

// Decide runs the operation on its steps, which hold the states. It decides take,
// at most, peek, give, acquire and renew; the others need no decision. It is for
// stores.
func (o *Op) Decide(steps []algo.Step, now algo.Instant) (allowed bool, granted int64) {
	allowed = true
	switch o.Kind {
	case OpTake:
		allowed = algo.Take(steps, now)
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
