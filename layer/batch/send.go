package batch

import (
	"context"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
)

// call is the operations of many waiters, in flight as one call.
type call struct {
	waiters []*waiter
	ops     []engine.Op
	results []engine.Result
}

var calls = sync.Pool{New: func() any { return new(call) }}

// send makes calls as long as an operation of the lane waits.
func (s *Store) send(l *lane) {
	c := calls.Get().(*call)
	for s.fill(l, c) {
		ctx, cancel := s.deadline(c)
		s.store.Do(ctx, c.ops, c.results)
		cancel()
		s.deliver(c)
	}
	calls.Put(c)
}

// fill takes the next waiters. If none waits, it reports false and frees the call.
func (s *Store) fill(l *lane, c *call) bool {
	s.mu.Lock()
	c.waiters = l.queue.take(c.waiters[:0], s.config.MaxOps, s.config.MaxBytes)
	if len(c.waiters) == 0 {
		l.calls--
		s.mu.Unlock()
		return false
	}
	s.stats.Calls++
	s.mu.Unlock()
	c.ops, c.results = c.ops[:0], c.results[:0]
	for _, w := range c.waiters {
		c.ops = append(c.ops, w.ops...)
		c.results = append(c.results, w.results...)
	}
	s.observe(len(c.ops), c.waiters[0].since)
	return true
}

// longestCall is the deadline of a call if one of its callers has none. A call with a
// deadline can be read by the goroutine that makes it. Without one it can be stopped only
// if other goroutines read for it, and on Redis each answer would pass through two more.
const longestCall = time.Minute

// deadline returns the context of a call: the latest deadline of its waiters, bounded by
// the store's life.
func (s *Store) deadline(c *call) (context.Context, context.CancelFunc) {
	var latest time.Time
	for _, w := range c.waiters {
		if w.deadline.IsZero() {
			return context.WithTimeout(s.life, longestCall)
		}
		if w.deadline.After(latest) {
			latest = w.deadline
		}
	}
	return context.WithDeadline(s.life, latest)
}

// deliver gives each waiter its results.
func (s *Store) deliver(c *call) {
	from := 0
	for _, w := range c.waiters {
		from += copy(w.results, c.results[from:])
	}
	s.mu.Lock()
	s.waits -= len(c.ops)
	s.stats.Ops += int64(len(c.ops))
	s.mu.Unlock()
	for _, w := range c.waiters {
		w.done <- struct{}{}
	}
	clear(c.waiters)
	clear(c.ops)
	clear(c.results) // the lists in the results belong to the callers now
}

// withdraw removes a waiter whose caller leaves from the queue. It reports false if its
// operations are in flight.
func (s *Store) withdraw(w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.place == inFlight {
		return false
	}
	s.waits -= len(w.ops)
	w.lane.queue.leave(w)
	return true
}
