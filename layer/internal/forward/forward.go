// Package forward sends part of a call to the wrapped store. A layer answers some operations of a call itself, and
// forwards the rest in one call.
package forward

import (
	"context"

	"github.com/headgate/headgate/engine"
)

// Rest contains the operations of a call that go to the wrapped store. It is reused: Clear empties it.
type Rest struct {
	// From contains their indexes in the call.
	From    []int
	instead []instead
	ops     []engine.Op
	results []engine.Result
}

// instead is an operation that is forwarded in place of another.
type instead struct {
	n  int
	op engine.Op
}

// Add adds the operation at an index of the call.
func (r *Rest) Add(i int) { r.From = append(r.From, i) }

// Instead forwards op in place of the operation added last.
func (r *Rest) Instead(op engine.Op) {
	r.instead = append(r.instead, instead{len(r.From) - 1, op})
}

// Do forwards the operations and stores the results at their indexes. If they are the whole call, unchanged, it
// forwards the call itself.
func (r *Rest) Do(ctx context.Context, store engine.Store, ops []engine.Op, results []engine.Result) {
	if len(r.From) == len(ops) && len(r.instead) == 0 {
		store.Do(ctx, ops, results)
		return
	}
	for _, i := range r.From {
		r.ops, r.results = append(r.ops, ops[i]), append(r.results, results[i])
	}
	for _, other := range r.instead {
		r.ops[other.n] = other.op
	}
	store.Do(ctx, r.ops, r.results)
	for n, i := range r.From {
		results[i] = r.results[n]
	}
}

// Clear drops everything except the memory.
func (r *Rest) Clear() {
	clear(r.instead)
	clear(r.ops)
	clear(r.results)
	r.From, r.instead, r.ops, r.results = r.From[:0], r.instead[:0], r.ops[:0], r.results[:0]
}
