package service

import (
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/policy"
)

// plan is where a request's operations are in the batch, and how its answer is
// put together from them.
type plan struct {
	policy *policy.Policy
	err    *Error
	// op is the operation that decides: −1 where all limits are shadows.
	op int
	// shadows is the first of the operations that only count, one a limit.
	shadows, shadowCount int
	// names are the policies of the deciding operation's limits; nil where
	// they are all the requested one's.
	names []string
	cost  int64
}

// resolve appends the request's operations to the batch.
func (s *Service) resolve(b *batch, r *Request) plan {
	if (r.Kind == engine.OpGive || r.Kind == engine.OpReset) && !s.config.AllowWrites {
		return plan{err: &Error{Code: Forbidden, Err: ErrWritesOff}, op: -1}
	}
	if r.Policy == "" {
		return b.inline(r)
	}
	p, ok := s.config.Policies.Get(r.Policy)
	if !ok {
		return plan{err: unknownPolicy(r.Policy), op: -1}
	}
	cost := r.Cost
	if !r.HasCost {
		cost = p.Cost
	}
	b.found = p.Charges(b.found[:0], r.Key, cost)
	return b.named(r, p, cost)
}

func (r *Request) cost() int64 {
	if r.HasCost {
		return r.Cost
	}
	return 1
}

func (b *batch) inline(r *Request) plan {
	at := plan{op: len(b.ops), cost: r.cost()}
	op := engine.Op{Kind: r.Kind, Space: Inline, Key: r.Key}
	if r.Limits == nil {
		op.Charges = b.charge(engine.Charge{Limit: r.Limit, Cost: at.cost})
	}
	for _, limit := range r.Limits {
		op.Charges = append(op.Charges, engine.Charge{Limit: limit, Cost: at.cost})
	}
	b.ops = append(b.ops, op)
	return at
}

// charge puts one charge into the batch's memory and returns it as a slice.
func (b *batch) charge(c engine.Charge) []engine.Charge {
	if len(b.charges) == cap(b.charges) {
		return []engine.Charge{c}
	}
	b.charges = append(b.charges, c)
	return b.charges[len(b.charges)-1 : len(b.charges) : len(b.charges)]
}

func (b *batch) named(r *Request, p *policy.Policy, cost int64) plan {
	at := plan{policy: p, op: -1, cost: cost}
	op := engine.Op{Kind: r.Kind, Key: r.Key}
	for i := range b.found {
		c := &b.found[i]
		if c.Shadow {
			continue
		}
		op.Space = policy.Space(p.Name)
		if len(b.found) == 1 {
			op.Charges = b.charge(c.Charge)
		} else {
			op.Charges = append(op.Charges, c.Charge)
			at.names = append(at.names, c.Policy)
		}
	}
	if len(op.Charges) > 0 {
		at.op = len(b.ops)
		b.ops = append(b.ops, op)
	}
	at.shadows = len(b.ops)
	for i := range b.found {
		if c := &b.found[i]; c.Shadow {
			b.ops = append(b.ops, engine.Op{Kind: r.Kind, Space: policy.Space(p.Name), Key: r.Key, Charges: []engine.Charge{c.Charge}})
			at.shadowCount++
		}
	}
	return at
}
