package service

import (
	"errors"

	"github.com/headgate/headgate"
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

// answer makes one answer of a request's results.
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
		return shadowed(b, r, at, response)
	}
	result, op := &b.results[at.op], &b.ops[at.op]
	response.Decision, response.Found, response.TTL = result.Decision, result.Found, result.TTL
	if result.Err != nil {
		s.fail(&response, result.Err, r.Kind, at)
		return response
	}
	if r.Kind != engine.OpReset && r.Kind != engine.OpExpiry {
		response.parts(op, at)
	}
	return response
}

// parts names each limit's own answer, and the policy of the binding one.
func (r *Response) parts(op *engine.Op, at *plan) {
	d := &r.Decision
	if at.names != nil {
		r.Policy = at.names[d.Binding.Index]
	}
	if at.policy == nil && len(op.Charges) == 1 {
		return // nobody asks for an inline limit's parts but headers: see Part
	}
	for i := range op.Charges {
		part := Part{Policy: r.Policy, Limit: op.Charges[i].Limit}
		if at.names != nil {
			part.Policy = at.names[i]
		}
		if d.Limits != nil {
			part.State = d.Limits[i]
		} else {
			part.State = headgate.LimitDecision{Name: d.Binding.Name, Unlimited: d.Unlimited, Standing: engine.Standing{
				Limit: d.Limit, Remaining: d.Remaining, RetryAfter: d.RetryAfter, ResetAfter: d.ResetAfter, Delay: d.Delay,
			}}
		}
		r.Parts = append(r.Parts, part)
	}
}

// shadowed answers a request all of whose limits are shadows: whatever they
// counted, it is allowed.
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

// shadowError returns the first error of the shadows that the answer depends
// on. A take or peek does not depend on a shadow that the store did not answer.
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

// failureAnswers reports whether a failure mode may answer the kind: takes and
// peeks only. A reset, give or look-up that never ran is an error.
func failureAnswers(kind engine.Kind) bool {
	return kind == engine.OpAllow || kind == engine.OpPeek
}

// fail puts the failure mode's answer into the response where the decision is
// not known, and the error where the mode gives none or the request was at
// fault.
func (s *Service) fail(response *Response, err error, kind engine.Kind, at *plan) {
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
