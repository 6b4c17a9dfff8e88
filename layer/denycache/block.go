package denycache

import "github.com/headgate/headgate/engine"

// penaltyOf returns the index of the first penalty of an operation that takes part with a cost, or -1. It is -1 if
// another limit can never admit its cost, because the store's answer then says so.
func penaltyOf(op *engine.Op) int {
	first := -1
	for i := range op.Charges {
		c := &op.Charges[i]
		switch {
		case c.Cost == 0:
		case c.Limit.Punishes():
			if first < 0 {
				first = i
			}
		case c.Cost > c.Limit.Numbers().Largest():
			return -1
		}
	}
	return first
}

// deniedBy returns the outcome of the limit at index i, as if it were the only one.
func deniedBy(o *engine.Outcome, i int) engine.Outcome {
	d := *o
	if len(o.Limits) > 0 {
		d.Standing, d.Limits, d.Binding = o.Limits[i].Standing, nil, 0
	}
	return d
}

// byOne completes a repeated denial by the limit at index i of several: the other limits are set aside, because the
// store did not decide them.
func byOne(op *engine.Op, i int, o *engine.Outcome) {
	o.Binding, o.Limits = i, make([]engine.LimitOutcome, len(op.Charges))
	for j := range o.Limits {
		o.Limits[j] = engine.LimitOutcome{Name: op.Charges[j].Limit.Name(), Aside: j != i, Unlimited: j != i}
	}
	o.Limits[i].Standing = o.Standing
}
