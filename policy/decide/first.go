package decide

import (
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
)

// choices is a request's policy with "first", and the index of the item that names it. An operation can contain only
// one set of choices.
type choices struct {
	of   *policy.Policy
	item int
}

// add records the choice of a charge. It returns an error for a second set of choices, and for a choice whose counter
// the request also charges directly or under another choice.
func (c *choices) add(op *engine.Op, charge *policy.Charge, item int) error {
	if at := op.Counter(&charge.Charge); at >= 0 && op.Charges[at].Choice != charge.Choice {
		return &engine.InputError{Field: "policy", Value: engine.Quote(charge.Policy) + " twice, once as a choice of first", Accepted: "a limit that is a choice, or one that is always charged"}
	}
	switch {
	case charge.First == nil:
		return nil
	case c.of == nil:
		c.of, c.item = charge.First, item
		return nil
	case c.of == charge.First && c.item == item:
		return nil
	default:
		return &engine.InputError{Field: "policy", Value: engine.Quote(charge.First.Name) + " beside " + engine.Quote(c.of.Name), Accepted: "one policy with first in a request, once"}
	}
}

// chosen records which limit was charged, and removes the limits of the other choices.
func (r *Response) chosen(op *engine.Op, at *plan) {
	d := &r.Decision
	if len(d.Limits) == 0 {
		r.pays(op.Charges[0].Limit, r.Policy, at.policy)
		return
	}
	kept, standings := make([]LimitAnswer, 0, len(r.Limits)), make([]engine.LimitOutcome, 0, len(d.Limits))
	for i := range d.Limits {
		if d.Limits[i].Aside {
			continue
		}
		if i == d.Binding.Index {
			d.Binding.Index = len(kept)
		}
		if l := &r.Limits[i]; op.Charges[i].Choice != 0 {
			r.pays(l.Limit, l.Policy, at.owners[i])
		}
		kept, standings = append(kept, r.Limits[i]), append(standings, d.Limits[i])
	}
	r.Limits, d.Limits = kept, standings
}

// pays records the name of the charged limit, in the form used in overrides.
func (r *Response) pays(limit engine.Limit, name string, owner *policy.Policy) {
	if !r.Decision.Allowed || r.Paid != "" {
		return
	}
	if r.Paid = name; owner.Combined() {
		r.Paid += "/" + limit.Name()
	}
	r.Decision.Paid = r.Paid
}
