package batch

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
)

// storeCall contains the operations of many waiters that are sent in one call.
type storeCall struct {
	waiters []*waiter
	ops     []engine.Op
	results []engine.Answer
	staying atomic.Int64 // number of waiters that have not left
	// The store's lock guards the rest.
	lane   *lane
	flies  bool // it has no answer yet
	late   bool // all its waiters have left, and another call has its slot
	cancel context.CancelFunc
}

const (
	// late is how long a call continues after its callers have left, so that its units can be given back.
	late = time.Second
	// maxLate is the maximum number of calls that continue in this way at the same time. Further calls end when their
	// callers leave.
	maxLate = 64
)

var calls = sync.Pool{New: func() any { return new(storeCall) }}

// send makes calls until it is not time for one, or until another call has taken over its slot.
func (s *Store) send(l *lane) {
	c := calls.Get().(*storeCall)
	for {
		ctx := s.fill(l, c)
		if ctx == nil {
			break
		}
		s.store.Do(ctx, c.ops, c.results)
		c.cancel()
		back, alone := s.deliver(c)
		s.giveBack(back)
		if alone {
			return
		}
	}
	calls.Put(c)
}

// abandon is called when the last caller of a call has left. Another call takes over its slot and sends the operations
// waiting in the lane. If maxLate calls are late already, or the store is closed, the call is cancelled instead.
func (s *Store) abandon(c *storeCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !c.flies || c.late || c.staying.Load() != 0: // the call was answered, so c may have other waiters by now
	case s.late >= maxLate || s.closed:
		c.cancel()
	default:
		c.late = true
		s.late++
		for _, w := range c.waiters {
			s.separate(w.ops)
		}
		c.lane.calls--
		s.next(c.lane)
	}
}

// fill takes the next waiters, and returns the context for their call. If it is not time for a call, it returns nil and
// frees the slot.
func (s *Store) fill(l *lane, c *storeCall) context.Context {
	s.mu.Lock()
	l.calls--
	if !s.due(l) {
		s.mu.Unlock()
		return nil
	}
	l.calls++
	c.waiters = l.queue.take(c.waiters[:0], s.config.MaxOps, s.config.MaxBytes)
	s.stats.Calls++
	c.staying.Store(int64(len(c.waiters)))
	c.lane, c.flies = l, true
	for _, w := range c.waiters {
		w.call = c
	}
	ctx, cancel := s.deadline(c)
	c.cancel = cancel
	s.mu.Unlock()
	c.ops, c.results = c.ops[:0], c.results[:0]
	for _, w := range c.waiters {
		c.ops = append(c.ops, w.ops...)
		for _, err := range w.errs {
			c.results = append(c.results, engine.Answer{Err: err})
		}
	}
	s.observe(len(c.ops), c.waiters[0].since)
	return ctx
}

// longestCall is the deadline of a call if one of its callers has none. With a deadline, the goroutine that makes a
// call can also read its answer. Without one, a call could be stopped only if other goroutines read for it, and
// on Redis each answer would pass through two more goroutines.
const longestCall = time.Minute

// deadline returns the context of a call. Its deadline is the latest deadline of the waiters, plus late.
// If a waiter has no deadline, the context ends after longestCall. It also ends when the store is closed.
func (s *Store) deadline(c *storeCall) (context.Context, context.CancelFunc) {
	var latest time.Time
	for _, w := range c.waiters {
		if w.deadline.IsZero() {
			return context.WithTimeout(s.life, longestCall)
		}
		if w.deadline.After(latest) {
			latest = w.deadline
		}
	}
	return context.WithDeadline(s.life, latest.Add(late))
}

// settleable reports whether the caller can give back the units that an operation takes.
func settleable(ops []engine.Op) bool {
	for i := range ops {
		if ops[i].Kind == engine.OpReserve || ops[i].Hints.Settled {
			return true
		}
	}
	return false
}

// takes reports whether the operation takes units that only a settlement gives back.
func takes(op *engine.Op) bool { return op.Kind.Takes() && op.Kind != engine.OpAcquire }

// deliver gives each waiter its results. It returns the operations that give back the units of callers that have
// left. alone is set if all callers have left and another call has taken over the slot.
func (s *Store) deliver(c *storeCall) (back []engine.Op, alone bool) {
	s.mu.Lock()
	s.waits -= len(c.ops)
	s.stats.Ops += int64(len(c.ops))
	c.flies = false
	if alone = c.late; alone {
		c.late = false
		s.late--
	} else {
		s.returned(c.lane, c.ops, c.results)
	}
	s.mu.Unlock()
	rest := c.results
	for _, w := range c.waiters {
		results := rest[:len(w.ops)]
		rest = rest[len(w.ops):]
		if w.left.CompareAndSwap(false, true) {
			copy(w.results, results)
			w.done <- struct{}{}
			continue
		}
		for i := range w.ops {
			if r := &results[i]; r.Err == nil && r.Allowed && takes(&w.ops[i]) {
				for _, undo := range r.Undo(&w.ops[i], 0, 2*late) {
					// A permit stays with its holder, as after an acquire, because a share may have granted it under
					// the same id.
					if _, holds := undo.Permits(); undo.Kind == engine.OpSettle && !holds {
						back = append(back, undo)
					}
				}
			}
		}
	}
	clear(c.waiters)
	clear(c.ops)
	clear(c.results) // the lists in the results now belong to the callers
	return back, alone
}

// giveBack gives units back. If a call fails, its units stay spent.
func (s *Store) giveBack(ops []engine.Op) {
	for part := range slices.Chunk(ops, s.config.MaxOps) {
		ctx, cancel := context.WithTimeout(s.life, late)
		s.store.Do(ctx, part, make([]engine.Answer, len(part)))
		cancel()
	}
}

// withdraw removes the waiter of a leaving caller from the queue. It returns false if the waiter's operations are in
// flight.
func (s *Store) withdraw(w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.state == inFlight {
		return false
	}
	s.waits -= len(w.ops)
	w.lane.queue.leave(w)
	return true
}
