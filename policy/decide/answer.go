package decide

import (
	"cmp"
	"slices"
	"strings"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
)

// Answer returns the response to request i, built from the results of its operations.
func (b *Batch) Answer(i int) Response {
	at := &b.plans[i]
	kind, response := at.request.Kind, Response{Requested: at.policy, Cost: at.cost}
	if at.policy != nil {
		response.Policy, response.Unit = at.policy.Name, at.policy.Unit
	}
	if at.request.Holds {
		response.Held = b.held(at)
	}
	switch {
	case at.err != nil:
		response.Err = at.err
		return response
	case at.denied:
		response.Decision = headgate.Decision{RetryAfter: headgate.Never}
		return response
	case at.op < 0:
		b.shadowed(at, &response)
		return response
	}
	if at.request.Shadowed && at.shadowCount+len(at.own) > 0 {
		response.Shadows = b.beside(at)
	}
	result, op := &b.Results[at.op], &b.Ops[at.op]
	if at.items != nil {
		_, response.Key = op.Subject(0)
	}
	response.Decision, response.Found, response.Dropped, response.TTL = result.Decision, result.Found, result.Dropped, result.TTL
	err := result.Err
	switch {
	case at.reports:
		report := &b.Results[at.op-1]
		err, response.Decision.Allowed = cmp.Or(err, report.Err), response.Decision.Allowed && report.Found
	case kind == engine.OpRenew && op.Kind == engine.OpSettle:
		response.Decision.Allowed = result.Found
	}
	if err != nil {
		b.unknown(at, &response, err)
		return response
	}
	if kind != engine.OpReset && kind != engine.OpExpiry {
		response.setLimits(op, at)
		response.Override = at.overrides>>response.Decision.Binding.Index&1 == 1
		if at.request.Route != nil || at.items != nil {
			response.Requested = at.owners[response.Decision.Binding.Index]
		}
	}
	response.Decision.Binding.Policy = response.Policy
	if kind == engine.OpAllow && response.Decision.Allowed && op.Adapts() {
		response.Outcome = core.Outcomes(b.rules.Limiter, op)
	}
	if op.Hints.Settled {
		response.Charged = b.toSettle(at, result)
	}
	if kind >= engine.OpAcquire { // most requests end here, because they hold nothing
		b.hold(&response, kind, at.op)
	}
	if op.Chosen() && err == nil {
		response.chosen(op, at)
	}
	if at.reports {
		response.Lease = min(response.Lease, b.Ops[at.op-1].Reservation.Term.Within)
	}
	return response
}

// unknown sets the response to a request whose decision is not known: the error, or the failure mode's answer. Answers
// from the fallback layer count as known, so unknown is not called for them.
func (b *Batch) unknown(at *plan, response *Response, err error) {
	if d, ok := at.failure.Answer(at.request.Kind, at.cost, err); ok {
		response.Decision = d
		return
	}
	response.Err = err
}

// setLimits sets each limit's answer and the policy of the binding limit.
func (r *Response) setLimits(op *engine.Op, at *plan) {
	d := &r.Decision
	if at.items != nil {
		_, r.Key = op.Subject(d.Binding.Index)
	}
	if at.owners != nil {
		r.Policy, r.Unit = named(at.owners[d.Binding.Index])
	}
	if len(op.Charges) == 1 && at.items == nil {
		r.Limit = op.Charges[0].Limit
		return
	}
	r.Limits = make([]LimitAnswer, len(op.Charges))
	for i := range op.Charges {
		l := LimitAnswer{Policy: r.Policy, Unit: r.Unit, Limit: op.Charges[i].Limit, Cost: op.Charges[i].Cost}
		if at.owners != nil {
			l.Policy, l.Unit = named(at.owners[i])
		}
		if at.items != nil {
			l.Items = at.items[i]
			_, l.Key = op.Subject(i)
		}
		if d.Limits != nil {
			l.Decision = d.Limits[i]
		} else {
			l.Decision = engine.LimitOutcome{Name: d.Binding.Name, Unlimited: d.Unlimited, Standing: engine.Standing{
				Limit: d.Limit, Remaining: d.Remaining, RetryAfter: d.RetryAfter, ResetAfter: d.ResetAfter, Delay: d.Delay,
			}}
		}
		r.Limits[i] = l
	}
}

// named returns the name and the unit of a limit's owner. Both are "" for an inline limit.
func named(owner *policy.Policy) (name, unit string) {
	if owner == nil {
		return "", ""
	}
	return owner.Name, owner.Unit
}

// toSettle returns a request's charges, including those on shadows. It is nil if nothing was charged.
func (b *Batch) toSettle(at *plan, deciding *core.Result) *core.Charged {
	if !deciding.Decision.Allowed || deciding.Decision.Promise.OvershootMax == engine.Unbounded {
		return nil
	}
	ops := append(slices.Clone(b.Ops[at.op:at.op+1]), b.Ops[at.shadows:at.shadows+at.shadowCount]...)
	for i := range ops { // the batch and its keys reuse their memory
		op := &ops[i]
		op.Key, op.Charges = strings.Clone(op.Key), slices.Clone(op.Charges)
		for j := range op.Charges {
			op.Charges[j].Key = strings.Clone(op.Charges[j].Key)
		}
	}
	results := append(slices.Clone(b.Results[at.op:at.op+1]), b.Results[at.shadows:at.shadows+at.shadowCount]...)
	return core.ChargedBy(b.rules.Limiter, ops, results)
}

// shadowed answers a request whose limits are all shadows. The request passes. A reset, give or expiry returns the
// shadows' answers, including errors. A caller's mistake, such as a key that is too long, is always an error. If there
// is a live limit, a shadow's error is never the answer (regression: bug 59), because the live limit has decided and
// may have charged.
func (b *Batch) shadowed(at *plan, response *Response) {
	kind := at.request.Kind
	response.Decision = headgate.Decision{Allowed: true, Unlimited: true, Binding: headgate.Binding{Policy: response.Policy}}
	if at.request.Shadowed {
		response.Shadows = b.beside(at)
	}
	if at.request.Items != nil && at.shadowCount > 0 {
		response.Key = b.Ops[at.shadows].Key
	}
	for i := at.shadows; i < at.shadows+at.shadowCount; i++ {
		result := &b.Results[i]
		if err := result.Err; err != nil && (!policy.NotKnown(err) || !kind.Takes() && kind != engine.OpPeek) {
			response.Err = err
			return
		}
		response.Found = response.Found || result.Found
		response.TTL = max(response.TTL, result.TTL)
		response.Decision.At = result.Decision.At
	}
	if kind == engine.OpAllow {
		response.Decision.Granted = at.cost
	}
	if at.shadowCount > 0 && b.Results[at.shadows].Err == nil { // no operation if the route's policies are no longer in the file
		b.hold(response, kind, at.shadows)
	}
}
