package denycache

import "github.com/headgate/headgate/engine"

// deniedBy returns the outcome that the limit at index i would have alone.
func deniedBy(o *engine.Outcome, i int) engine.Outcome {
	d := *o
	if len(o.Limits) > 0 {
		d.Standing, d.Limits, d.Binding = o.Limits[i].Standing, nil, 0
	}
	return d
}

// byOne completes a repeated denial of an operation with several limits, where the limit at index i denies. The other
// limits are set aside, because the store did not decide them.
func byOne(op *engine.Op, i int, o *engine.Outcome) {
	o.Binding, o.Limits = i, make([]engine.LimitOutcome, len(op.Charges))
	for j := range o.Limits {
		o.Limits[j] = engine.LimitOutcome{Name: op.Charges[j].Limit.Name(), Aside: j != i, Unlimited: j != i}
	}
	o.Limits[i].Standing = o.Standing
}
