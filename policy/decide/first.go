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

// chosen records which limit was charged, and removes the limits of the other choices from the response.
func (r *Response) chosen() {
	kept := make([]int, 0, r.Count())
	charges := make([]policy.Charge, 0, r.Count())
	for i := range r.Count() {
		if r.Of(i).Unchosen {
			continue
		}
		if c := r.Charge(i); c.Choice != 0 && r.Allowed && r.Paid == "" {
			if r.Paid = c.Policy; c.Owner.Combined() {
				r.Paid += "/" + c.Limit.Name()
			}
		}
		kept, charges = append(kept, i), append(charges, *r.Charge(i))
	}
	r.Answer = r.Keep(kept...)
	r.SetCharges(charges...)
}
