// Package batch implements group commit for a store: operations that arrive while calls are in flight are sent
// together, in one call, as soon as one of those calls returns.
//
// There is no timer: if fewer than two calls are in flight, an operation is sent at once, alone. A further call is sent
// only with many operations, because few would be better off in the next call of many. Each operation is decided
// exactly as it would be alone, in order of arrival. One round trip serves many operations. On Redis, one script call
// also serves many operations, and all operations on one key share one read and one write.
//
// Each caller keeps its own context. If the context ends while the operation is queued, the operation is not sent. If
// it ends while the operation is in flight, the operation may be charged, and the error is [engine.ErrOutcomeUnknown],
// as for a lost answer. A shared call continues for a second after its callers have left. If the answer arrives in that
// time, the units are given back. Permits are not given back, because their holders can release them.
//
// A take that need not wait runs in its caller's goroutine, and its units stay spent if the caller leaves. A goroutine
// per take would add 4 µs and 8 allocations to a round trip of 40 µs. Operations that the caller may settle (a reserve,
// a wait) do run in a goroutine of their own.
//
// A part of the store that does not answer, such as a master of a Cluster, gets a lane of its own, with its own queue and
// calls, until it answers.
//
//	batch.go   the caller's side
//	lane.go    the operations that share calls
//	queue.go   the waiting operations, and their order
//	send.go    one call for many operations
package batch

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
)

// The defaults of [Config].
const (
	DefaultInFlight = 3
	DefaultMaxOps   = 256
	DefaultMaxBytes = 1 << 18
	DefaultMaxQueue = 1 << 17
)

// ErrQueueFull is returned for an operation that arrives when the queue is full. The operation was not sent. The error
// matches [engine.ErrStoreUnavailable].
var ErrQueueFull = fmt.Errorf("%w: too many operations wait", engine.ErrStoreUnavailable)

// Config configures a store. The zero Config means the defaults.
type Config struct {
	// InFlight is the largest number of calls in flight at a time in each lane: 1 to 1024. Calls whose callers have all
	// left do not count. If two are in flight, a further call is sent only once MaxOps/2 operations wait. The default
	// is 3.
	InFlight int
	// MaxOps is the largest number of operations in one call: 1 to 1000. A caller's own batch is never divided, and may
	// exceed it. The default is 256.
	MaxOps int
	// MaxBytes is the largest total size of the keys in one call: 1024 to 2^24 bytes. A caller's own batch is never
	// divided, and may exceed it. The default is 256 KiB.
	MaxBytes int
	// MaxQueue is the maximum number of operations that may be queued, or be in flight in shared calls: 1 to 2^24.
	// Further operations get [ErrQueueFull]. The default is 131072, about 64 MiB.
	MaxQueue int
	// Lane, if set, returns the index of the part of the store that contains the limit of one of an operation's
	// charges. Parts can be unavailable independently, such as ranges of a Cluster's slots. While a part does not
	// answer, its operations do not share calls with others. There should be at most a few hundred parts.
	Lane func(op *engine.Op, charge int) int
	// Observe, if set, is called before each call to the wrapped store, except for calls that give units back. It gets
	// the number of operations in the call and how long the first of them has waited. It must be safe for concurrent
	// use, must return quickly, and must not call the store.
	Observe func(ops int, waited time.Duration)
}

// Store is an [engine.Store] that wraps another. It is safe for concurrent use.
type Store struct {
	store  engine.Store
	config Config

	mu     sync.Mutex
	plain  lane
	lanes  map[int]*lane // for parts of the store that do not answer
	waits  int           // number of operations queued, or in flight in shared calls
	late   int           // number of calls whose callers have all left
	closed bool
	stats  Stats

	life    context.Context
	end     context.CancelFunc
	senders sync.WaitGroup
	waiters sync.Pool // of *waiter
}

var _ engine.Store = (*Store)(nil)

// Stats contains a store's counters.
type Stats struct {
	// Calls is the number of calls to the wrapped store, without those that give units back.
	Calls int64
	// Ops is the number of operations in these calls.
	Ops int64
	// Waiting is the number of operations that are queued, or are in flight in shared calls.
	Waiting int
	// Refused is the number of operations that got ErrQueueFull.
	Refused int64
}

// New wraps store. Close also closes it. If a value in c is out of range, the error is an [*engine.InputError].
func New(store engine.Store, c Config) (*Store, error) {
	for _, f := range []struct {
		field           string
		value           *int
		least, most, is int
	}{
		{"in_flight", &c.InFlight, 1, 1024, DefaultInFlight},
		{"max_ops", &c.MaxOps, 1, engine.MaxOps, DefaultMaxOps},
		{"max_bytes", &c.MaxBytes, 1024, 1 << 24, DefaultMaxBytes},
		{"max_queue", &c.MaxQueue, 1, 1 << 24, DefaultMaxQueue},
	} {
		if *f.value == 0 {
			*f.value = f.is
		}
		if *f.value < f.least || *f.value > f.most {
			return nil, &engine.InputError{
				Field: f.field, Value: fmt.Sprint(*f.value), Accepted: fmt.Sprintf("%d to %d", f.least, f.most),
			}
		}
	}
	s := &Store{store: store, config: c}
	s.life, s.end = context.WithCancel(context.Background())
	return s, nil
}

// Unwrap returns the wrapped store.
func (s *Store) Unwrap() engine.Store { return s.store }

// Stats returns the store's counters.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	counted := s.stats
	counted.Waiting = s.waits
	return counted
}

// Do decides the operations. See [engine.Store].
func (s *Store) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	if len(ops) == 0 {
		return
	}
	l, free, err := s.enter(ctx, ops)
	switch {
	case err != nil:
		engine.Fail(results, err)
	case free: // alone, in the caller's goroutine
		s.observe(len(ops), time.Time{})
		s.store.Do(ctx, ops, results)
		s.leave(l, ops, results)
	default:
		s.join(ctx, l, ops, results)
	}
}

// enter starts a call if the operations' lane has one available and the caller can run it in its own goroutine.
func (s *Store) enter(ctx context.Context, ops []engine.Op) (l *lane, free bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false, engine.ErrClosed
	}
	l = s.laneOf(ops)
	if l.calls >= s.eager() || ctx.Done() != nil && settleable(ops) {
		return l, false, nil
	}
	l.calls++
	s.stats.Calls++
	s.stats.Ops += int64(len(ops))
	return l, true, nil
}

// observe reports a call to the observer. The argument since is the time when the call's first operation was queued. It
// is zero if the operation did not wait.
func (s *Store) observe(ops int, since time.Time) {
	if s.config.Observe == nil {
		return
	}
	waited := time.Duration(0)
	if !since.IsZero() {
		waited = time.Since(since)
	}
	s.config.Observe(ops, waited)
}

// leave ends a call that a caller made itself.
func (s *Store) leave(l *lane, ops []engine.Op, results []engine.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.returned(l, ops, results)
	l.calls--
	s.next(l)
}

// next makes a call with the operations waiting in a lane, if it is time for one. The caller holds the lock.
func (s *Store) next(l *lane) {
	if s.due(l) {
		l.calls++
		s.senders.Go(func() { s.send(l) })
	}
}

// join queues the operations and waits for their results.
func (s *Store) join(ctx context.Context, l *lane, ops []engine.Op, results []engine.Answer) {
	w := s.waiter(ctx, ops, results)
	w.lane = l
	if s.config.Observe != nil {
		w.since = time.Now()
	}
	if err := s.line(w); err != nil {
		s.free(w)
		engine.Fail(results, err)
		return
	}
	s.wait(ctx, w, results)
}

// line queues a waiter, and makes a call if it is time for one.
func (s *Store) line(w *waiter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return engine.ErrClosed
	case s.waits+len(w.ops) > s.config.MaxQueue:
		s.stats.Refused += int64(len(w.ops))
		return ErrQueueFull
	}
	s.waits += len(w.ops)
	l := w.lane
	l.queue.push(w)
	s.next(l)
	return nil
}

// wait returns when the results have arrived, or when the caller's context ends.
func (s *Store) wait(ctx context.Context, w *waiter, results []engine.Answer) {
	leaves := ctx.Done()
	if leaves == nil { // a select takes twice the time
		<-w.done
		s.free(w)
		return
	}
	select {
	case <-w.done:
		s.free(w)
		return
	case <-leaves:
	}
	if s.withdraw(w) {
		engine.Fail(results, &left{fmt.Errorf("%w: %w", engine.ErrStoreUnavailable, ctx.Err()), "unsent"})
		return
	}
	c := w.call
	switch {
	case !w.left.CompareAndSwap(false, true): // the results came before the caller could leave
		<-w.done
		s.free(w)
	case c == nil: // Close took it from the queue
		engine.Fail(results, engine.ErrClosed)
	default:
		engine.Fail(results, unknown(ctx.Err()))
		if c.staying.Add(-1) == 0 {
			s.abandon(c)
		}
	}
}

// unknown returns the error for an operation whose caller's context ended while the operation was in flight.
func unknown(err error) error {
	return &left{fmt.Errorf("%w: %w: %w", engine.ErrOutcomeUnknown, engine.ErrStoreUnavailable, err), "outcome_unknown"}
}

// left is the error of an operation whose caller left. It has the class and the text for clients that the store's own
// error for a deadline has, so that one outage has one name.
type left struct {
	error
	class string
}

// Unwrap returns the errors that it matches.
func (e *left) Unwrap() error { return e.error }

// Name returns the error's class.
func (e *left) Name() string { return e.class }

// Public returns the class without the text, as a message for clients.
func (e *left) Public() string { return "the store could not decide: " + e.class }

// Close closes the wrapped store, and returns once no shared call is in flight. Waiting operations get
// engine.ErrClosed. Close is idempotent: another call returns nil at once.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	left := s.plain.queue.take(nil, math.MaxInt, math.MaxInt)
	for _, l := range s.lanes {
		left = l.queue.take(left, math.MaxInt, math.MaxInt)
	}
	for _, w := range left {
		s.waits -= len(w.ops)
	}
	s.mu.Unlock()
	if !first {
		return nil
	}
	for _, w := range left {
		if w.left.CompareAndSwap(false, true) {
			engine.Fail(w.results, engine.ErrClosed)
			w.done <- struct{}{}
		}
	}
	s.end()
	err := s.store.Close()
	s.senders.Wait()
	return err
}
