package decide

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
)

// Answer sets the response to request i from the answers to its operations. It is called once for each request.
func (b *Batch) Answer(i int, response *Response) {
	at := &b.plans[i]
	*response = Response{}
	response.Requested, response.Cost = at.policy, at.cost
	if at.policy != nil {
		response.Policy, response.Unit = at.policy.Name, at.policy.Unit
	}
	if at.request.Holds {
		response.Permits = b.held(at)
	}
	switch {
	case at.err != nil:
		response.Err = at.err
	case at.denied:
		response.Binds().RetryAfter = engine.Never
	case at.op < 0:
		b.shadowed(at, response)
	default:
		b.decided(at, response)
	}
}

// decided completes the response to a request that an operation decided.
func (b *Batch) decided(at *plan, response *Response) {
	kind, result, op := at.request.Kind, &b.Results[at.op], &b.Ops[at.op]
	if at.request.Shadowed && at.besides.to > at.besides.from {
		response.Shadows = b.shadowAnswers(at)
	}
	response.Answer, response.Listed = *result, at.request.listed()
	if response.Listed {
		_, response.Key = op.Subject(0)
	}
	switch {
	case at.reports:
		report := &b.Results[at.op-1]
		response.Err, response.Allowed = cmp.Or(response.Err, report.Err), response.Allowed && report.Found
	case kind == engine.OpRenew && op.Kind == engine.OpSettle:
		response.Allowed = result.Found
	case at.request.Reports && op.Kind == engine.OpPeek:
		response.Found = result.Allowed
	}
	if err := response.Err; err != nil {
		b.unknown(at, response, err)
		return
	}
	if kind != engine.OpReset && kind != engine.OpExpiry {
		if response.charged(at); op.Chosen() {
			response.chosen()
		}
	}
	if kind == engine.OpAllow && response.Allowed && op.Adapts() {
		response.Outcome = b.rules.Limiter.Outcomes(op)
	}
	if op.Hints.Settled {
		response.Charged = b.toSettle(at, result)
	}
	if kind >= engine.OpAcquire { // most requests end here, because they hold nothing
		b.hold(response, kind, at.op)
	}
	if at.reports {
		response.Lease = min(response.Lease, b.Ops[at.op-1].Reservation.Term.Within)
	}
}

// unknown sets the response to a request whose decision is not known: the error, or the failure mode's answer. Answers
// from the fallback layer count as known, so unknown is not called for them.
func (b *Batch) unknown(at *plan, response *Response, err error) {
	if answer, ok := at.failure.Answer(at.request.Kind, at.cost, err); ok {
		response.Answer = answer
		return
	}
	response.Answer = engine.Answer{Err: err}
}

// charged sets the charges that the answer is about, and what the response says of the binding one.
func (r *Response) charged(at *plan) {
	r.charges = at.charges
	r.endDenials()
	c := r.Bound()
	if c == nil {
		return
	}
	if c.Owner != nil || r.Listed {
		r.Policy, r.Unit = c.Policy, c.Unit()
	}
	if r.Listed && c.Key != "" {
		r.Key = c.Key
	}
	if at.request.Route != nil || r.Listed {
		r.Requested = c.Owner
	}
}

// endDenials sets the wait of a limit that denies all requests until an operator's change ends. The end is known only
// here: for the store, such a limit never passes.
func (r *Response) endDenials() {
	ended := false
	for i := range r.Count() {
		if c, s := r.Charge(i), r.Of(i); c.EndsMicros > 0 && s.RetryAfter == engine.Never && c.Limit.Algorithm().DeniesAll() {
			s.RetryAfter = max(time.Until(time.UnixMicro(c.EndsMicros)), time.Second)
			s.ResetAfter, ended = s.RetryAfter, true
		}
	}
	for i := range r.Count() { // the longest wait binds
		if ended && r.Of(i).RetryAfter > r.Binds().RetryAfter {
			r.Binding = i
		}
	}
}

// toSettle returns a request's charges, including those on shadows. It is nil if nothing was charged.
func (b *Batch) toSettle(at *plan, deciding *engine.Answer) *core.Charged {
	if !deciding.Allowed || deciding.Promise.OvershootMax == engine.Unbounded {
		return nil
	}
	to := at.op + 1
	for i := at.besides.from; i < at.besides.to; i++ {
		if b.besides[i].Shadow {
			to = b.besides[i].op + 1
		}
	}
	ops := slices.Clone(b.Ops[at.op:to])
	for i := range ops { // the batch and its keys reuse their memory; a namespace is a policy's
		op := &ops[i]
		op.Key, op.Charges = strings.Clone(op.Key), slices.Clone(op.Charges)
		for j := range op.Charges {
			op.Charges[j].Key = strings.Clone(op.Charges[j].Key)
		}
	}
	return b.rules.Limiter.ChargedBy(ops, b.Results[at.op:to])
}

// shadowed answers a request whose limits are all shadows. The request passes. A reset, give or expiry returns the
// shadows' answers, including errors. A caller's mistake, such as a key that is too long, is always an error. If there
// is a live limit, a shadow's error is never the answer (regression: bug 59), because the live limit has decided and
// may have charged.
func (b *Batch) shadowed(at *plan, response *Response) {
	kind, besides := at.request.Kind, b.besides[at.besides.from:at.besides.to]
	response.Allowed, response.Binds().Unlimited = true, true
	if at.request.Shadowed {
		response.Shadows = b.shadowAnswers(at)
	}
	if response.Listed = at.request.listed(); response.Listed && len(besides) > 0 {
		response.Key = b.Ops[besides[0].op].Key
	}
	for i := range besides {
		result := &b.Results[besides[i].op]
		if err := result.Err; err != nil && (!policy.NotKnown(err) || !kind.Takes() && kind != engine.OpPeek) {
			response.Err = err
			return
		}
		response.Found = response.Found || result.Found
		response.TTL = max(response.TTL, result.TTL)
		response.AtMicros = result.AtMicros
	}
	if kind == engine.OpAllow {
		response.Granted = at.cost
	}
	if len(besides) > 0 && b.Results[besides[0].op].Err == nil { // no operation if the route's policies are no longer in the file
		b.hold(response, kind, besides[0].op)
	}
}
