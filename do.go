package headgate

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
)

// Result is the answer to one of several requests.
type Result struct {
	// Decision is the answer, valid where Err is nil.
	Decision Decision
	// Found answers a reset, an expiry and a release: whether there was anything.
	Found bool
	// TTL answers an expiry: the time until the counter equals an untouched one.
	TTL time.Duration
	// Err is set where the request was not decided, as [Limiter.Allow] says.
	Err error
}

func (r *Result) read(op *engine.Op, from *engine.Result) {
	r.Decision, r.Found, r.TTL, r.Err = Decision{}, from.Found, from.TTL, from.Err
	if from.Err == nil && op.Kind != engine.OpReset && op.Kind != engine.OpExpiry {
		r.Decision.read(op, &from.Outcome)
	}
}

// batch is the memory of the answers of one Do.
type batch struct{ results []engine.Result }

var batches = sync.Pool{New: func() any { return new(batch) }}

// Do decides operations in one call: each is atomic and answered on its own, in order.
// It is for servers and for what no other verb says; more than [engine.MaxOps] is an
// error in every result. The results are written into the memory given, which may be
// nil, and the limiter's name space into operations that have none.
func (l *Limiter) Do(ctx context.Context, ops []engine.Op, memory []Result) []Result {
	results := slices.Grow(memory[:0], len(ops))[:len(ops)]
	b := batches.Get().(*batch)
	b.results = b.results[:0]
	for i := range ops {
		if ops[i].Space == "" {
			ops[i].Space = l.adHoc()
		}
		b.results = append(b.results, engine.Result{Err: l.check(&ops[i], len(ops))})
	}
	l.store.Do(ctx, ops, b.results)
	for i := range ops {
		results[i].read(&ops[i], &b.results[i])
		if l.observer != nil {
			l.observer(ctx, &ops[i], &results[i])
		}
	}
	clear(b.results)
	batches.Put(b)
	return results
}
