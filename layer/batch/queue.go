package batch

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
)

// waiter holds a copy of one caller's operations, because the caller may return and reuse its memory while they are
// in flight.
type waiter struct {
	ops      []engine.Op
	charges  []engine.Charge
	results  []engine.Answer // the caller's own: only who sets left may write to them
	errs     []error         // the errors that the results already had: nil for most
	space    string          // the last namespace of the operations, which the next caller often has too
	bytes    int
	lane     *lane
	call     *storeCall // the call that contains its operations, while in flight
	deadline time.Time  // zero if there is no deadline
	since    time.Time  // when it was queued, for the observer
	done     chan struct{}
	left     atomic.Bool // set by the caller when it leaves, or by who writes the results
	// state is guarded by the store's lock.
	state waiterState
}

// waiterState is the state of a waiter: queued, in flight or gone.
type waiterState uint8

const (
	queued waiterState = iota
	inFlight
	gone
)

// waiter copies a caller's operations. Each store has its own pool, because a channel must not move from one synctest
// bubble to another.
func (s *Store) waiter(ctx context.Context, ops []engine.Op, results []engine.Answer) *waiter {
	w, reused := s.waiters.Get().(*waiter)
	if !reused {
		w = &waiter{done: make(chan struct{}, 1)}
	}
	w.state, w.bytes = queued, 0
	w.left.Store(false)
	w.deadline, _ = ctx.Deadline()
	w.ops = append(w.ops[:0], ops...)
	w.results, w.errs = results, w.errs[:0]
	for i := range results {
		w.errs = append(w.errs, results[i].Err)
	}
	charges := 0
	for i := range ops {
		charges += len(ops[i].Charges)
	}
	w.charges = slices.Grow(w.charges[:0], charges)
	for i := range w.ops {
		op := &w.ops[i]
		if op.Space != w.space {
			w.space = strings.Clone(op.Space)
		}
		op.Space, op.Key, op.ID = w.space, strings.Clone(op.Key), strings.Clone(op.ID)
		from := len(w.charges)
		w.charges = append(w.charges, op.Charges...)
		op.Charges = w.charges[from:len(w.charges):len(w.charges)]
		w.bytes += len(op.Key)
		for j := range op.Charges {
			c := &op.Charges[j]
			c.Space, c.Key = strings.Clone(c.Space), strings.Clone(c.Key)
			w.bytes += len(c.Key)
		}
	}
	return w
}

// free returns the waiter to the pool. A waiter whose caller has left is not reused, because it may still be in flight.
func (s *Store) free(w *waiter) {
	w.lane, w.call, w.results = nil, nil, nil
	clear(w.ops)
	clear(w.charges)
	clear(w.errs)
	s.waiters.Put(w)
}

// queue holds the waiters in order of arrival.
type queue struct {
	list []*waiter
	head int
	gone int // waiters in list[head:] whose callers have left
	ops  int // of the other waiters
}

func (q *queue) push(w *waiter) {
	q.list = append(q.list, w)
	q.ops += len(w.ops)
}

// take moves waiters from the queue to the slice taken, for one call. It moves as many as fit, but at least one if
// there are any.
func (q *queue) take(taken []*waiter, maxOps, maxBytes int) []*waiter {
	ops, bytes := 0, 0
	for ; q.head < len(q.list); q.head++ {
		w := q.list[q.head]
		if w.state == gone {
			q.gone--
			q.list[q.head] = nil
			continue
		}
		ops, bytes = ops+len(w.ops), bytes+w.bytes
		if len(taken) > 0 && (ops > maxOps || bytes > maxBytes) {
			break
		}
		w.state = inFlight
		q.ops -= len(w.ops)
		taken = append(taken, w)
		q.list[q.head] = nil
	}
	q.shift()
	return taken
}

// shift reclaims the space at the front when it is half of the list.
func (q *queue) shift() {
	if 2*q.head >= len(q.list) {
		q.list = slices.Delete(q.list, 0, q.head)
		q.head = 0
	}
}

// leave marks a waiter as gone. When more than half are gone, the list is rebuilt without them, so that its length
// stays proportional to the live waiters.
func (q *queue) leave(w *waiter) {
	w.state = gone
	q.gone++
	q.ops -= len(w.ops)
	if left := len(q.list) - q.head; 2*q.gone > left {
		q.list = slices.DeleteFunc(q.list[q.head:], func(w *waiter) bool { return w.state == gone })
		q.head, q.gone = 0, 0
	}
}
