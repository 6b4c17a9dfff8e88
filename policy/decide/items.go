package decide

import (
	"slices"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
)

// itemCharge is the charge on one limit of an item. Charge.Key is the item's key or its hash.
type itemCharge struct {
	policy.Charge

	item int
}

// items appends the operations of a request with several items: one for all deciding limits, and one per shadow.
func (b *Batch) items(at *plan) {
	at.failure, b.itemCharges = policy.Weakest(), b.itemCharges[:0]
	settled := at.request.Settled || at.request.Undoable && at.request.Route != nil && at.request.Route.Route.RefundOnError
	for i := range at.request.Items {
		item := &at.request.Items[i]
		counted, named := b.keys.text(item.Key, item.Counted)
		if err := b.limitsOf(at, item, named); err != nil {
			at.err = &engine.ItemError{Item: i, Err: err}
			return
		}
		settled = settled || at.request.Undoable && slices.ContainsFunc(b.limits, paces)
		for j := range b.limits {
			c := &b.limits[j]
			if c.Space != "" {
				c.Space = core.Space(b.rules.Limiter, c.Space)
			}
			c.Key = counted
			b.itemCharges = append(b.itemCharges, itemCharge{*c, i})
		}
	}
	op := at.request.op("")
	op.Hints.Settled = settled && op.Kind == engine.OpAllow
	if at.err = at.joinAll(&op, b.itemCharges); at.err != nil {
		return
	}
	if len(op.Charges) == 0 && op.Kind == engine.OpReserve { // all limits are shadows, but the client needs a reservation to settle
		none := itemCharge{policy.Charge{Charge: engine.Charge{Key: b.itemCharges[0].Key, Limit: engine.NoLimit(), Cost: 1}}, 0}
		at.join(&op, &none)
		at.failure = policy.Local // no limit can deny it
	}
	if len(op.Charges) > 0 {
		op.Space, op.Key = op.Charges[0].Space, op.Charges[0].Key
		if op.Kind == engine.OpReserve {
			reserveItems(&op, len(at.request.Items))
			at.setTerm(&op)
		}
		at.failure.Mark(&op)
		at.request.holdWith(&op)
		at.op = len(b.Ops)
		b.Ops = append(b.Ops, op)
	}
	at.shadows = len(b.Ops)
	for i := range b.itemCharges {
		if c := &b.itemCharges[i]; c.Shadow {
			b.shadow(at, at.request.shadow(c.Space, c.Key, c.Charge.Charge, &op), &c.Charge, c.item)
		}
	}
	at.peeks = len(b.Ops)
	for i := range at.own {
		b.Ops = append(b.Ops, engine.Op{Kind: engine.OpPeek, Space: at.own[i].Space, Key: at.own[i].Key, Hints: engine.Hints{Shadow: true}, Charges: []engine.Charge{{Limit: at.own[i].Limit}}})
	}
}

// limitsOf collects the limits of an item. It finds no limits if the route's policy is no longer in the file. An inline
// limit has no owner.
func (b *Batch) limitsOf(at *plan, item *Item, named string) error {
	p, ok := b.policies.Get(item.Policy)
	switch {
	case item.Key == "": // an empty key would count under the first item's key
		return &engine.InputError{Field: "key", Value: `""`, Accepted: "1 to 1024 bytes"}
	case ok:
		if at.policy == nil {
			at.policy = p
		}
		cost := p.Cost
		if item.HasCost {
			cost = item.Cost
		}
		b.limits = p.Charges(b.limits[:0], named, cost, b.keys.names...)
		policy.Classify(b.limits, at.request.Class, named, b.keys.names...)
		at.request.estimate(p, b.limits)
		at.failure = at.failure.And(p.Answers())
	case at.request.Route != nil:
		b.limits = b.limits[:0]
		return nil
	case item.Policy != "" && item.Limit == engine.Limit{}:
		return &NoPolicyError{Name: item.Policy, policies: b.policies}
	default:
		own, cost := b.own(item.Own), int64(1)
		if item.HasCost {
			cost = item.Cost
		}
		b.limits = append(b.limits[:0], policy.Charge{Charge: engine.Charge{Space: own.Space, Limit: item.Limit, Cost: cost}})
		at.failure = at.failure.And(own.Failure)
	}
	at.cost = max(at.cost, b.limits[0].Cost)
	return nil
}

// joinAll adds the deciding charges to the operation.
func (at *plan) joinAll(op *engine.Op, charges []itemCharge) error {
	for i := range charges {
		c := &charges[i]
		if c.Shadow {
			continue
		}
		if c.First != nil || at.choices.of != nil {
			if err := at.choices.add(op, &c.Charge, c.item); err != nil {
				return &engine.ItemError{Item: c.item, Err: err}
			}
		}
		at.join(op, c)
	}
	return nil
}

// join adds a charge to the deciding operation. If the operation already charges the counter, join adds the cost to
// that charge, keeps the smaller of the two limits, and adds the larger one to own, so that it is peeked at separately.
func (at *plan) join(op *engine.Op, c *itemCharge) {
	if i := op.Counter(&c.Charge.Charge); i >= 0 {
		have := &op.Charges[i]
		have.Cost = engine.Sum(have.Cost, c.Cost)
		if op.Kind == engine.OpReserve {
			at.estimates[i] = engine.Sum(at.estimates[i], max(c.Cost, c.Estimate))
		}
		have.Items |= 1 << c.item
		switch {
		case c.Limit.StricterThan(have.Limit):
			for _, item := range at.items[i] {
				at.own = append(at.own, itemCharge{policy.Charge{Charge: *have, Owner: at.owners[i]}, item})
			}
			have.Limit, at.owners[i] = c.Limit, c.Owner
			at.overridden(i, c.Override)
		case c.Limit != have.Limit:
			at.own = append(at.own, *c)
		}
		at.items[i] = append(at.items[i], c.item)
		return
	}
	c.Items = 1 << c.item
	at.reserves(op.Kind, &c.Charge)
	at.overridden(len(op.Charges), c.Override)
	op.Charges = append(op.Charges, c.Charge.Charge)
	at.owners, at.items = append(at.owners, c.Owner), append(at.items, []int{c.item})
}

// beside returns the answers of a request's shadows, and of item limits that were charged under a smaller limit.
func (b *Batch) beside(at *plan) []ShadowAnswer {
	answers := make([]ShadowAnswer, 0, at.shadowCount+len(at.own))
	answer := func(op, item int) ShadowAnswer {
		c := &b.Ops[op].Charges[0]
		return ShadowAnswer{Item: item, Limit: c.Limit, Cost: c.Cost, Decision: b.Results[op].Decision, Err: b.Results[op].Err}
	}
	for i := range b.shadows {
		if s := &b.shadows[i]; s.op >= at.shadows && s.op < at.shadows+at.shadowCount && !s.candidate {
			one := answer(s.op, s.item)
			one.Policy = s.Owner.Name
			answers = append(answers, one)
		}
	}
	for i := range at.own {
		answers = append(answers, answer(at.peeks+i, at.own[i].item))
	}
	return answers
}
