package service

import (
	"errors"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
)

// plan says which operations of the batch belong to a request, and how their results
// make its response.
type plan struct {
	policy *policy.Policy
	err    *Error
	// op is the index of the deciding operation; -1 if all limits are shadows.
	op int
	// shadows is the index of the first operation of a shadow. Each shadow has one.
	shadows, shadowCount int
	// names are the policies of the limits of the deciding operation; nil if all
	// belong to the requested policy.
	names []string
	cost  int64
}

// resolve appends the operations of a request to the batch.
func (s *Service) resolve(b *batch, policies *policy.Set, from FrontEnd, r *Request) plan {
	if (r.Kind == engine.OpGive || r.Kind == engine.OpReset) && !s.config.AllowWrites && from != Admin {
		return plan{err: &Error{Code: Forbidden, Err: ErrWritesOff}, op: -1}
	}
	if r.Kind == engine.OpSettle {
		return b.settle(r)
	}
	if r.Kind == engine.OpReserve && b.signer.err != nil {
		return plan{err: b.signer.err, op: -1}
	}
	if r.Policy == "" {
		return b.inline(r)
	}
	p, ok := policies.Get(r.Policy)
	if !ok {
		return plan{err: unknownPolicy(r.Policy), op: -1}
	}
	cost := r.Cost
	if !r.HasCost {
		cost = p.Cost
	}
	b.limits = p.Charges(b.limits[:0], r.Key, cost)
	return b.named(r, p, cost)
}

// cost returns the cost of a request with inline limits.
func (r *Request) cost() int64 {
	if r.HasCost {
		return r.Cost
	}
	return 1
}

// inline appends the operation of a request with inline limits.
func (b *batch) inline(r *Request) plan {
	at := plan{op: len(b.ops), cost: r.cost()}
	op := r.op()
	op.Space = Inline
	if r.Limits == nil {
		op.Charges = b.charge(engine.Charge{Limit: r.Limit, Cost: at.cost})
	}
	for _, limit := range r.Limits {
		op.Charges = append(op.Charges, engine.Charge{Limit: limit, Cost: at.cost})
	}
	b.ops = append(b.ops, op)
	return at
}

// charge returns a slice with one charge, from the memory of the batch if it has space.
func (b *batch) charge(c engine.Charge) []engine.Charge {
	if len(b.charges) == cap(b.charges) {
		return []engine.Charge{c}
	}
	b.charges = append(b.charges, c)
	return b.charges[len(b.charges)-1 : len(b.charges) : len(b.charges)]
}

// named appends the operations of a request that names a policy: one for all limits that
// decide, and one for each shadow.
func (b *batch) named(r *Request, p *policy.Policy, cost int64) plan {
	at := plan{policy: p, op: -1, cost: cost}
	op, unlimited := r.op(), false
	for i := range b.limits {
		c := &b.limits[i]
		if isHold(r.Kind) && c.Limit.Unlimited() {
			unlimited = true
			continue
		}
		if c.Shadow {
			continue
		}
		op.Space = engine.PolicySpace(p.Name)
		if len(b.limits) == 1 {
			op.Charges = b.charge(c.Charge)
		} else {
			op.Charges = append(op.Charges, c.Charge)
			at.names = append(at.names, c.Policy)
		}
	}
	if withoutPermits(&op, unlimited); len(op.Charges) > 0 {
		at.op = len(b.ops)
		b.ops = append(b.ops, op)
	}
	at.shadows = len(b.ops)
	for i := range b.limits {
		if c := &b.limits[i]; c.Shadow {
			b.ops = append(b.ops, r.shadow(p.Name, c.Charge, op.ID))
			b.shadows = append(b.shadows, Shadow{Owner: c.Owner, op: len(b.ops) - 1})
			at.shadowCount++
		}
	}
	return at
}

// answer makes the response to a request from its results.
func (s *Service) answer(b *batch, r *Request, at *plan) Response {
	response := Response{Requested: at.policy}
	if at.policy != nil {
		response.Policy = at.policy.Name
	}
	if at.err != nil {
		response.Err = at.err
		return response
	}
	if err := shadowError(b, r, at); err != nil {
		response.Err = err
		return response
	}
	if at.op < 0 {
		response = shadowed(b, r, at, response)
		response.setHold(r.Kind, b, at.shadows)
		return response
	}
	result, op := &b.results[at.op], &b.ops[at.op]
	response.Decision, response.Found, response.TTL = result.Decision, result.Found, result.TTL
	if result.Err != nil {
		s.applyFailureMode(&response, result.Err, r.Kind, at)
		return response
	}
	if r.Kind != engine.OpReset && r.Kind != engine.OpExpiry {
		response.setLimits(op, at)
	}
	response.setHold(r.Kind, b, at.op)
	return response
}

// setLimits sets the answer of each limit, and the policy of the binding one.
func (r *Response) setLimits(op *engine.Op, at *plan) {
	d := &r.Decision
	if at.names != nil {
		r.Policy = at.names[d.Binding.Index]
	}
	if at.policy == nil && len(op.Charges) == 1 {
		return // see Response.Limits
	}
	for i := range op.Charges {
		limit := LimitAnswer{Policy: r.Policy, Limit: op.Charges[i].Limit}
		if at.names != nil {
			limit.Policy = at.names[i]
		}
		if d.Limits != nil {
			limit.Decision = d.Limits[i]
		} else {
			limit.Decision = headgate.LimitDecision{Name: d.Binding.Name, Unlimited: d.Unlimited, Standing: engine.Standing{
				Limit: d.Limit, Remaining: d.Remaining, RetryAfter: d.RetryAfter, ResetAfter: d.ResetAfter, Delay: d.Delay,
			}}
		}
		r.Limits = append(r.Limits, limit)
	}
}

// shadowed allows a request whose limits are all shadows.
func shadowed(b *batch, r *Request, at *plan, response Response) Response {
	response.Decision = headgate.Decision{Allowed: true, Unlimited: true}
	for i := at.shadows; i < at.shadows+at.shadowCount; i++ {
		response.Found = response.Found || b.results[i].Found
		response.TTL = max(response.TTL, b.results[i].TTL)
		response.Decision.At = b.results[i].Decision.At
	}
	if r.Kind == engine.OpAllow {
		response.Decision.Granted = at.cost
	}
	return response
}

// shadowError returns the first error of a shadow that makes the request an error. For a
// take or peek, a shadow that the store did not answer is none.
func shadowError(b *batch, r *Request, at *plan) error {
	for i := at.shadows; i < at.shadows+at.shadowCount; i++ {
		err := b.results[i].Err
		if err == nil {
			continue
		}
		if coded := classify(err); coded.Code != Unavailable || !failureAnswers(r.Kind) {
			return coded
		}
	}
	return nil
}

// failureAnswers reports whether a failure mode applies to the kind: to takes and peeks
// only. A reset, give or expiry without a result is an error.
func failureAnswers(kind engine.Kind) bool {
	return kind == engine.OpAllow || kind == engine.OpPeek
}

// applyFailureMode answers a request whose decision is not known: with the error, or, if
// the failure mode is allow, with an allowed decision. An invalid request, and a limiter
// that is closed, are errors in both modes.
func (s *Service) applyFailureMode(response *Response, err error, kind engine.Kind, at *plan) {
	failure := s.config.Failure
	if at.policy != nil {
		failure = at.policy.Failure
	}
	coded := classify(err)
	if coded.Code != Unavailable || failure == policy.Deny || !failureAnswers(kind) || errors.Is(err, headgate.ErrClosed) {
		response.Err = coded
		return
	}
	response.Decision = headgate.Decision{
		Allowed: true, Unlimited: true,
		Promise: headgate.Promise{Mode: engine.Fallback, OvershootMax: engine.Unbounded},
	}
	if kind == engine.OpAllow {
		response.Decision.Granted = at.cost
	}
}
