// Package queue makes callers wait in order: until they are first, until a call can include them, or until their
// reserved slot. Callers join and leave at any position in constant time, so that many callers that leave together do
// not delay others.
//
//	queue.go   one queue
//	set.go     queues by name, with one lock
//	turns.go   calls that each serve several callers, one call at a time per name
//	slots.go   callers with reservations
package queue

// Queue is an ordered list of waiters. The zero value is empty. S is the type of the user's data for the queue, and W
// is the type of the user's data for each waiter. The owner's lock guards a queue.
type Queue[S, W any] struct {
	// State is the user's data.
	State S

	first, last *Waiter[W]
	length      int
}

// Waiter is a caller in a queue.
type Waiter[W any] struct {
	// Value is the user's data.
	Value W

	ready         chan struct{}
	before, after *Waiter[W]
	waits         bool
}

// Ready returns a channel that receives a value when the waiter becomes the first in its queue, and when it is woken.
func (w *Waiter[W]) Ready() <-chan struct{} { return w.ready }

// wake wakes the waiter. It has no effect on a waiter with a pending wake-up.
func (w *Waiter[W]) wake() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// Len returns the number of waiters.
func (q *Queue[S, W]) Len() int { return q.length }

// First reports whether the waiter is the first in the queue.
func (q *Queue[S, W]) First(w *Waiter[W]) bool { return q.first == w }

// Add adds a waiter at the end.
func (q *Queue[S, W]) Add(value W) *Waiter[W] { return q.insert(value, 0) }

// insert adds a waiter before the last n waiters, in n steps.
func (q *Queue[S, W]) insert(value W, n int) *Waiter[W] {
	w := &Waiter[W]{Value: value, ready: make(chan struct{}, 1), before: q.last, waits: true}
	for range n {
		w.before, w.after = w.before.before, w.before
	}
	q.link(w.before, w)
	q.link(w, w.after)
	q.length++
	return w
}

// link makes two waiters neighbours. A nil waiter represents an end of the queue. If the second waiter becomes the
// first in the queue, link wakes it.
func (q *Queue[S, W]) link(before, after *Waiter[W]) {
	if after == nil {
		q.last = before
	} else {
		after.before = before
	}
	if before != nil {
		before.after = after
	} else if q.first = after; after != nil {
		after.wake()
	}
}

// Leave removes a waiter from any position. If the waiter is not in the queue, Leave returns false.
func (q *Queue[S, W]) Leave(w *Waiter[W]) bool {
	if !w.waits {
		return false
	}
	w.waits = false
	q.link(w.before, w.after)
	w.before, w.after = nil, nil
	q.length--
	return true
}

// WakeAll wakes every waiter.
func (q *Queue[S, W]) WakeAll() {
	for w := q.first; w != nil; w = w.after {
		w.wake()
	}
}
