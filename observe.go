package headgate

import (
	"context"

	"github.com/headgate/headgate/engine"
)

// Result is the result of one request, as returned by [Limiter.AllowEach] or passed to an observer.
type Result struct {
	// Verb is the operation: "allow", "at most", "reserve" or "acquire". In a server it can also be "count".
	Verb string
	// Policy is the name of the policy that decided. It is "" for an ad-hoc limit.
	Policy string
	// Key is the key that was charged.
	Key string
	// Units is the cost.
	Units int64
	// Shadow is set if a policies file makes the policy a shadow, which counts requests but never denies them.
	Shadow bool
	// Decision is the answer. It is valid if Err is nil.
	Decision Decision
	// Err is set if the request was not decided. See [Policy] for the errors.
	Err error
}

// WithObserver sets a function that is called in the caller's goroutine after each request that can take units, whether
// it is allowed, denied or fails. Operations such as Peek and Give are not observed. The function must be fast and safe
// for concurrent use. The bytes of the result's strings and Decision.Limits are valid only during the call.
// headgate/adapter/prometheus and headgate/adapter/otel provide observers. A nil observer is an invalid option.
func WithObserver(observer func(ctx context.Context, result Result)) Option {
	return func(l *Limiter) {
		if l.observed = observer; observer == nil {
			l.invalid = missing("observer", "a function; without WithObserver there is none")
		}
	}
}

func (l *Limiter) isObserved() bool { return l.observer != nil || l.observed != nil }

// observe passes the result of an operation to the observers. It is used when the caller itself needs no result.
func (l *Limiter) observe(ctx context.Context, op *engine.Op, r *engine.Answer) {
	if l.observer != nil {
		l.observer(ctx, op, &result{Answer: *r})
	}
	if l.observed != nil && op.Kind.Takes() {
		var d Decision
		if r.Err == nil {
			d.readOp(op, r)
		}
		l.observed(ctx, observation(op, &d, r.Err))
	}
}

// observation returns the result of an operation. Policy is the policy of the binding limit.
func observation(op *engine.Op, d *Decision, err error) Result {
	o := Result{Verb: op.Kind.String(), Key: op.Key, Shadow: op.Hints.Shadow, Decision: *d, Err: err}
	space := op.Space
	if i := d.Binding.Index; i < len(op.Charges) {
		space, o.Key = op.Subject(i)
		o.Units = op.Charges[i].Cost
	}
	o.Policy, _ = engine.PolicyOf(space)
	o.Decision.Binding.Policy = o.Policy
	return o
}
