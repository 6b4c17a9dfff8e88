package service

import (
	"errors"
	"slices"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/keyhash"
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
	// owners are the policies of the limits of the deciding operation; nil if all
	// belong to the requested policy.
	owners []*policy.Policy
	// failure is the failure mode.
	failure policy.Failure
	// replicas is what the charge waits for.
	replicas engine.Replicas
	cost     int64
	// denied is a request of a route without a key: nothing is charged, and it never
	// passes.
	denied bool
}

// resolve appends the operations of a request to the batch.
func (s *Service) resolve(b *batch, policies *policy.Set, from FrontEnd, r *Request) plan {
	key, named := r.Key, r.Key
	if b.keys.secrets != nil {
		if key = b.keys.of(r); keyhash.Is(named) {
			named = key // the text of a hash as a client's key: the overrides of that hash are of another key
		}
	}
	if b.guarded || s.config.NoInline || r.Kind == engine.OpGive || r.Kind == engine.OpReset {
		if err := s.permit(b, from, r); err != nil {
			return plan{err: &Error{Code: Forbidden, Err: err}, op: -1}
		}
	}
	switch {
	case r.Kind == engine.OpSettle:
		return b.settle(r)
	case r.Route != nil:
		return b.routed(policies, r, key, named)
	case r.Policy == "":
		return b.inline(r, key, s.config.Failure)
	}
	p, ok := policies.Get(r.Policy)
	if !ok {
		return plan{err: unknownPolicy(r.Policy), op: -1}
	}
	cost := r.Cost
	if !r.HasCost {
		cost = p.Cost
	}
	b.limits = p.Charges(b.limits[:0], named, cost, b.keys.names...)
	at := plan{policy: p, op: -1, cost: cost, failure: p.Failure, replicas: p.Replicas}
	b.charged(r, &at, key)
	return at
}

// routed appends the operations of a request with a route. named is the key by which it finds
// overrides.
func (b *batch) routed(policies *policy.Set, r *Request, key, named string) (at plan) {
	at = plan{op: -1, denied: r.Route.NoKey != nil}
	for _, name := range r.Route.Route.Policies {
		if p, ok := policies.Get(name); ok { // it may have left the file since the route was found
			at.policy, at.cost = p, p.Cost
			break
		}
	}
	if r.HasCost {
		at.cost = r.Cost
	}
	if at.denied || at.policy == nil {
		return at
	}
	var answers policy.Answers
	b.limits, answers = policies.ForRoute(r.Route, named, b.keys.names...)
	at.failure, at.replicas = answers.Failure, answers.Replicas
	b.charged(r, &at, key)
	if at.op >= 0 && r.Undoable {
		b.ops[at.op].Settled = r.Route.Route.RefundOnError || slices.ContainsFunc(b.limits, paces)
	}
	if at.op >= 0 && at.owners == nil {
		at.owners = []*policy.Policy{b.limits[slices.IndexFunc(b.limits, func(c policy.Charge) bool { return !c.Shadow })].Owner}
	}
	return at
}

// paces reports whether the charge can delay the request.
func paces(c policy.Charge) bool { return !c.Shadow && c.Limit.Algorithm().Paces() && c.Cost > 0 }

// op returns the operation of a request without its charges.
func (r *Request) op(key string) engine.Op {
	op := engine.Op{Kind: r.Kind, Key: key, ID: r.ID}
	if r.Kind >= engine.OpAcquire {
		r.hold(&op)
	}
	return op
}

// cost returns the cost of a request with inline limits.
func (r *Request) cost() int64 {
	if r.HasCost {
		return r.Cost
	}
	return 1
}

// inline appends the operation of a request with inline limits.
func (b *batch) inline(r *Request, key string, failure policy.Failure) plan {
	at := plan{op: len(b.ops), cost: r.cost(), failure: failure}
	op := r.op(key)
	op.Space, op.Local, op.Lenient = Inline, failure == policy.Local, failure == policy.Allow
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

// charged appends the operations for the limits of a policy or a route: one for all limits
// that decide, and one for each shadow.
func (b *batch) charged(r *Request, at *plan, key string) {
	space := engine.PolicySpace(at.policy.Name)
	op, unlimited := r.op(key), false
	op.Local, op.Lenient, op.Replicas = at.failure == policy.Local, at.failure == policy.Allow, at.replicas
	for i := range b.limits {
		c := &b.limits[i]
		if isHold(r.Kind) && c.Limit.Unlimited() {
			unlimited = true
			continue
		}
		if c.Shadow {
			continue
		}
		op.Space = space
		if len(b.limits) == 1 {
			op.Charges = b.charge(c.Charge)
		} else {
			op.Charges = append(op.Charges, c.Charge)
			at.owners = append(at.owners, c.Owner)
		}
	}
	if withoutPermits(&op, unlimited); len(op.Charges) > 0 {
		at.op = len(b.ops)
		b.ops = append(b.ops, op)
	}
	at.shadows = len(b.ops)
	for i := range b.limits {
		if c := &b.limits[i]; c.Shadow {
			b.ops = append(b.ops, r.shadow(space, key, c.Charge, op.ID))
			b.shadows = append(b.shadows, Shadow{Owner: c.Owner, Of: c.ShadowOf, candidate: c.Candidate, op: len(b.ops) - 1})
			at.shadowCount++
		}
	}
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
	if at.denied {
		response.Decision = headgate.Decision{RetryAfter: headgate.Never}
		return response
	}
	if at.op < 0 {
		if response.Err = shadowError(b, r, at); response.Err != nil {
			return response
		}
		response = shadowed(b, r, at, response)
		if at.shadowCount > 0 && b.results[at.shadows].Err == nil { // of a route whose policies have left the file nothing is decided
			response.setHold(r.Kind, b, at.shadows)
		}
		return response
	}
	result, op := &b.results[at.op], &b.ops[at.op]
	response.Decision, response.Found, response.TTL = result.Decision, result.Found, result.TTL
	if op.Settled {
		response.Charged = result.Reservation
	}
	if result.Err != nil {
		b.lacking = b.lacking || errors.Is(result.Err, headgate.ErrNotReplicated)
		s.applyFailureMode(&response, result.Err, r.Kind, at)
		return response
	}
	if r.Kind != engine.OpReset && r.Kind != engine.OpExpiry {
		response.setLimits(op, at)
		if r.Route != nil {
			response.Requested = at.owners[response.Decision.Binding.Index]
		}
	}
	if r.Kind >= engine.OpAcquire { // the others, nearly all requests, hold nothing
		response.setHold(r.Kind, b, at.op)
	}
	return response
}

// setLimits sets the answer of each limit, and the policy of the binding one.
func (r *Response) setLimits(op *engine.Op, at *plan) {
	d := &r.Decision
	if at.owners != nil {
		r.Policy = at.owners[d.Binding.Index].Name
	}
	if at.policy == nil && len(op.Charges) == 1 {
		return // see Response.Limits
	}
	for i := range op.Charges {
		limit := LimitAnswer{Policy: r.Policy, Limit: op.Charges[i].Limit, Cost: op.Charges[i].Cost}
		if at.owners != nil {
			limit.Policy = at.owners[i].Name
		}
		if d.Limits != nil {
			limit.Decision = d.Limits[i]
		} else {
			limit.Decision = engine.LimitOutcome{Name: d.Binding.Name, Unlimited: d.Unlimited, Standing: engine.Standing{
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

// shadowError returns the error of a request whose limits are all shadows, if it is the caller's
// mistake, such as a key that is too long, or if the request asks the shadows themselves: a
// reset, give or expiry. Beside a live limit a shadow's error is never the answer's (known bug
// 59): the live limit has decided, and may have charged.
func shadowError(b *batch, r *Request, at *plan) error {
	for i := at.shadows; i < at.shadows+at.shadowCount; i++ {
		err := b.results[i].Err
		if err != nil && (errors.Is(err, headgate.ErrInvalid) || errors.Is(err, headgate.ErrClosed) || !r.Kind.Takes() && r.Kind != engine.OpPeek) {
			return classify(err)
		}
	}
	return nil
}

// applyFailureMode answers a request whose decision is not known: with the error, or with what the
// failure mode answers instead. What the layer fallback answers does not come here.
func (s *Service) applyFailureMode(response *Response, err error, kind engine.Kind, at *plan) {
	if d, ok := at.failure.Answer(kind, at.cost, err); ok {
		response.Decision = d
		return
	}
	response.Err = classify(err)
}
