// Package queue has callers wait in order: until they are the first, until a call can take
// them along, or until a slot that they have reserved. A caller joins and leaves in constant
// time wherever it stands, so that many that leave at once hold up nobody else.
//
//	queue.go   one queue
//	set.go     queues by name, under one lock
//	turns.go   calls, one at a time for each name, that take callers along
//	slots.go   callers that have reserved
package queue

// Queue is waiters in their order. The zero value is empty. S is what the user keeps of the
// queue, W what it keeps of each waiter. The lock of its owner guards a queue.
type Queue[S, W any] struct {
	// State is the user's.
	State S

	first, last *Waiter[W]
	length      int
}

// Waiter is a caller in a queue.
type Waiter[W any] struct {
	// Value is the user's.
	Value W

	ready         chan struct{}
	before, after *Waiter[W]
	waits         bool
}

// Ready gets an element when the waiter becomes the first of its queue, and when it is woken.
func (w *Waiter[W]) Ready() <-chan struct{} { return w.ready }

// wake does nothing to a waiter that has not yet seen that it was woken.
func (w *Waiter[W]) wake() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// Len returns how many wait.
func (q *Queue[S, W]) Len() int { return q.length }

// First reports whether the waiter is the first.
func (q *Queue[S, W]) First(w *Waiter[W]) bool { return q.first == w }

// Add puts a waiter at the end.
func (q *Queue[S, W]) Add(value W) *Waiter[W] { return q.insert(value, 0) }

// insert puts a waiter before the last n. It takes n steps.
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

// link makes two waiters neighbours; nil is the end of the queue. The first is woken.
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

// Leave takes a waiter out, wherever it stands. It returns false, and changes nothing, if the
// waiter is not in the queue.
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

// Wake wakes the first waiter.
func (q *Queue[S, W]) Wake() {
	if q.first != nil {
		q.first.wake()
	}
}
