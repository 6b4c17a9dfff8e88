// Package part is for stores that stand in front of others: of a call, they
// answer some operations themselves, and ask for the rest in one call.
package forward

import (
	"context"

	"github.com/headgate/headgate/engine"
)

// Rest is the operations of a call that have to be asked. It is reused: Clear
// empties it.
type Rest struct {
	// From are their places in the call.
	From    []int
	instead []instead
	ops     []engine.Op
	results []engine.Result
}

// instead is what is asked in the place of an operation of the call.
type instead struct {
	n  int
	op engine.Op
}

// Add adds the operation at a place of the call.
func (r *Rest) Add(i int) { r.From = append(r.From, i) }

// Instead has op asked in the place of the one that was added last.
func (r *Rest) Instead(op engine.Op) {
	r.instead = append(r.instead, instead{len(r.From) - 1, op})
}

// Do asks the store for them, and puts the answers into their places. Where they
// are the whole call, unchanged, it is handed on as it is.
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

// Clear forgets everything but the memory.
func (r *Rest) Clear() {
	clear(r.instead)
	clear(r.ops)
	clear(r.results)
	r.From, r.instead, r.ops, r.results = r.From[:0], r.instead[:0], r.ops[:0], r.results[:0]
}
