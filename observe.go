package headgate

import (
	"context"

	"github.com/headgate/headgate/core"
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
// for concurrent use. The bytes of the result's strings and Decision.Limits are valid only during the call. A
// limiter has one observer: a second WithObserver replaces the first, so call both functions in one.
// headgate/adapter/prometheus and headgate/adapter/otel provide observers. A nil observer is an invalid option.
func WithObserver(observer func(ctx context.Context, result Result)) Option {
	return func(o *options) {
		if o.observed = observer; observer == nil {
			o.refuse(missing("observer", "a function; without WithObserver there is none"))
		}
	}
}

// observe returns an observer for the core that also passes operations that can take units to the program's.
func (l *Limiter) observe(other core.Observer) core.Observer {
	return func(ctx context.Context, op *engine.Op, a *engine.Answer) {
		if other != nil {
			other(ctx, op, a)
		}
		if op.Kind.Takes() {
			l.observed(ctx, resultOf(op, a))
		}
	}
}

// resultOf returns the result of an operation. Policy is the policy of the binding limit.
func resultOf(op *engine.Op, a *engine.Answer) Result {
	o := Result{Verb: op.Kind.String(), Key: op.Key, Shadow: op.Hints.Shadow, Err: a.Err}
	if a.Err == nil {
		o.Decision = decisionOn(op, a)
	}
	space := op.Space
	if i := o.Decision.Binding.Index; i < len(op.Charges) {
		space, o.Key = op.Subject(i)
		o.Units = op.Charges[i].Cost
	}
	o.Policy, _ = engine.PolicyOf(space)
	o.Decision.Binding.Policy = o.Policy
	return o
}
