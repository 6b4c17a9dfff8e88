package service

import (
	"errors"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/policy"
)

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
		Promise: headgate.Promise{Mode: engine.Fallback, OvershootMax: headgate.Unbounded},
	}
	if kind == engine.OpAllow {
		response.Decision.Granted = at.cost
	}
}
