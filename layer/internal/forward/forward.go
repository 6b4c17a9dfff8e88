// Package forward sends part of a call to the wrapped store. A layer answers some operations of a call itself, and
// forwards the rest in one call.
package forward

import (
	"context"

	"github.com/headgate/headgate/engine"
)

// Subset contains the operations of a call that go to the wrapped store. It can be reused after Clear.
type Subset struct {
	// From contains the indexes of the operations in the call.
	From     []int
	replaced []replaced
	ops      []engine.Op
	results  []engine.Answer
}

// replaced is an operation that is forwarded in place of another.
type replaced struct {
	n  int
	op engine.Op
}

// Add adds the operation at an index of the call.
func (r *Subset) Add(i int) { r.From = append(r.From, i) }

// Replace forwards op in place of the operation added last.
func (r *Subset) Replace(op engine.Op) {
	r.replaced = append(r.replaced, replaced{len(r.From) - 1, op})
}

// Do forwards the operations to next and stores the results at their indexes. If the subset is the unchanged whole call,
// Do forwards the call itself. If it is empty, Do does nothing.
func (r *Subset) Do(ctx context.Context, next func(context.Context, []engine.Op, []engine.Answer), ops []engine.Op, results []engine.Answer) {
	switch {
	case len(r.From) == 0:
		return
	case len(r.From) == len(ops) && len(r.replaced) == 0:
		next(ctx, ops, results)
		return
	}
	for _, i := range r.From {
		r.ops, r.results = append(r.ops, ops[i]), append(r.results, results[i])
	}
	for _, other := range r.replaced {
		r.ops[other.n] = other.op
	}
	next(ctx, r.ops, r.results)
	for n, i := range r.From {
		results[i] = r.results[n]
	}
}

// Clear empties the subset, but keeps its buffers for reuse.
func (r *Subset) Clear() {
	clear(r.replaced)
	clear(r.ops)
	clear(r.results)
	r.From, r.replaced, r.ops, r.results = r.From[:0], r.replaced[:0], r.ops[:0], r.results[:0]
}
