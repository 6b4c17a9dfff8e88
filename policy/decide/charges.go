package decide

import (
	"slices"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
)

// charges is the list of a request's deciding charges. The first is inside it, because most requests have only one.
type charges struct {
	count int
	first policy.Charge
	rest  []policy.Charge
}

// Count returns the number of deciding charges.
func (c *charges) Count() int { return c.count }

// Charge returns the deciding charge at index i, which the standing at the same index describes.
func (c *charges) Charge(i int) *policy.Charge {
	if i == 0 {
		return &c.first
	}
	return &c.rest[i-1]
}

// SetCharges sets the deciding charges.
func (c *charges) SetCharges(all ...policy.Charge) {
	if *c = (charges{count: len(all)}); len(all) > 0 {
		c.first = all[0]
	}
	if len(all) > 1 {
		c.rest = slices.Clone(all[1:])
	}
}

// join makes the deciding operation's charges out of those that were gathered, in the same memory, and notes the others
// as besides. unlimited is true if a limit without permits was left out of an operation on permits.
func (b *Batch) join(at *plan, op *engine.Op, gathered []policy.Charge) (unlimited bool, err error) {
	r := at.request
	b.gathered, b.opFrom, b.beaten = b.gathered[:0], len(b.opCharges), b.beaten[:0]
	for i := range gathered {
		c := &gathered[i]
		if r.CountDenied && c.Limit.Algorithm().DeniesAll() {
			c.Limit = r.Limit
		}
		switch {
		case isHold(r.Kind) && c.Limit.Unlimited():
			unlimited = true
			continue
		case c.Shadow:
			b.besides = append(b.besides, beside{Charge: *c})
			continue
		case c.First != nil || at.choices.of != nil:
			if err := at.choices.add(op, c, c.FirstItem()); err != nil {
				return false, r.ofItem(c.FirstItem(), err)
			}
		}
		have := -1
		if r.listed() {
			have = op.Counter(&c.Charge)
		}
		if have >= 0 {
			b.merge(&b.gathered[have], &op.Charges[have], c)
		} else {
			b.charge(op, c)
		}
	}
	clear(gathered[len(b.gathered):])
	for i := range b.beaten {
		b.besides = append(b.besides, beside{Charge: b.beaten[i]})
	}
	return unlimited, nil
}

// charge adds a charge to the deciding operation.
func (b *Batch) charge(op *engine.Op, c *policy.Charge) {
	c.Estimate = max(c.Cost, c.Estimate)
	b.gathered = append(b.gathered, *c)
	b.opCharges = append(b.opCharges, c.Charge)
	op.Charges = b.opCharges[b.opFrom:len(b.opCharges):len(b.opCharges)]
}

// merge adds the cost of a charge to an earlier one on its counter, and keeps the smaller of the two limits. A peek
// beside the operation answers for the larger one.
func (b *Batch) merge(have *policy.Charge, charged *engine.Charge, c *policy.Charge) {
	before := *have
	have.Cost = engine.Sum(have.Cost, c.Cost)
	have.Estimate = engine.Sum(have.Estimate, max(c.Cost, c.Estimate))
	have.Items |= c.Items
	switch {
	case c.Limit.StricterThan(have.Limit):
		for item := range before.Covered() {
			before.Items = 1 << item
			b.beaten = append(b.beaten, before)
		}
		have.Limit, have.Source, have.Override = c.Limit, c.Source, c.Override
	case c.Limit != have.Limit:
		b.beaten = append(b.beaten, *c)
	}
	*charged = have.Charge
}

// ofItem adds an item's index to its error, if the request has a list.
func (r *Request) ofItem(i int, err error) error {
	if r.listed() {
		return &engine.ItemError{Item: i, Err: err}
	}
	return err
}
