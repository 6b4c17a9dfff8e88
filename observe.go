package headgate

import (
	"context"
	"sync"

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
// for concurrent use. The result and its strings are valid only during the call. headgate/adapter/prometheus and
// headgate/adapter/otel provide observers.
func WithObserver(observer func(ctx context.Context, result *Result)) Option {
	return withObserver(func(ctx context.Context, op *engine.Op, r *result) {
		if op.Kind.Takes() {
			o := observations.Get().(*Result)
			o.observe(op, r)
			observer(ctx, o)
			*o = Result{}
			observations.Put(o)
		}
	})
}

func withObserver(observer func(ctx context.Context, op *engine.Op, r *result)) Option {
	return func(l *Limiter) { l.observer = observer }
}

// observations pools the observed results, so that an observer adds no allocation.
var observations = sync.Pool{New: func() any { return new(Result) }}

// observe fills in o from an operation and its result. Policy is the policy of the binding limit.
func (o *Result) observe(op *engine.Op, r *result) {
	*o = Result{Verb: op.Kind.String(), Key: op.Key, Shadow: op.Hints.Shadow, Err: r.Err}
	if r.Err == nil {
		o.Decision.readOp(op, &r.Answer)
	}
	space := op.Space
	if i := r.Binding; i < len(op.Charges) {
		space, o.Key = op.Subject(i)
		o.Units = op.Charges[i].Cost
	}
	o.Policy, _ = engine.PolicyOf(space)
	o.Decision.Binding.Policy = o.Policy
}

// observe passes the result of an operation to the observer. It is used when the caller itself needs no result.
func (l *Limiter) observe(ctx context.Context, op *engine.Op, r *engine.Answer) {
	own := result{Answer: *r}
	l.observer(ctx, op, &own)
}
