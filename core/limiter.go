package core

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/memstore"
)

// ErrEnded means that a permit or reservation had already ended before the call: it had expired, been released or been
// settled. Another caller may hold its units.
var ErrEnded = errors.New("headgate: the permit or reservation has ended")

// errNoContext is the error of a call with a nil context.
var errNoContext error = &engine.InputError{Field: "ctx", Value: "nil", Accepted: "a context, such as context.Background()"}

// Limiter decides operations. It is safe for concurrent use. Every method respects the deadline of its context.
type Limiter struct {
	store    engine.Store
	owned    bool // New created the store, so Close closes it
	space    string
	observer Observer
	invalid  error
	closed   atomic.Bool
	done     chan struct{} // closed by Close
	inMemory bool          // the store is an engine.Binder: it never blocks, so no caller can leave during a decision
	lines    lines         // callers of Wait and Acquire
	turns    turns         // calls that reserve units for waiting callers
	slots    slots         // callers with a reserved slot
	outcomes outcomes      // reported, but not yet sent to the store
	lates    lates         // permits whose acquire got no answer
	watch    sync.Once     // starts watching the terms of reservations
	watching sync.WaitGroup
}

// Observer is called after each decided operation, on the caller's goroutine. It must be fast and safe for concurrent
// calls. The operation, the answer and the bytes of their strings are valid only during the call. Fields of the answer
// that do not apply to the kind of operation are zero.
type Observer = func(ctx context.Context, op *engine.Op, a *engine.Answer)

// DefaultMaxWaiting is the largest number of callers of one process that wait for one key.
const DefaultMaxWaiting = 100_000

// Config is the configuration of a limiter. The zero Config is a limiter in the memory of this process.
type Config struct {
	// Store decides the operations. The caller closes it after the limiter. If it is nil, the limiter creates its own
	// store in memory, for a million keys.
	Store engine.Store
	// Space prefixes the namespaces of the limiter's keys.
	Space string
	// Observer can be nil.
	Observer Observer
	// Invalid is the error of every operation, for a limiter that its program configured wrongly.
	Invalid error
	// MaxWaiting is the largest number of callers of this process that wait for one key: [DefaultMaxWaiting] if it is 0.
	// A further caller gets an error.
	MaxWaiting int
	// Now is the clock for the age of reported outcomes, in place of the system's.
	Now func() time.Time
}

// New returns a limiter.
func New(c Config) *Limiter {
	l := &Limiter{store: c.Store, space: c.Space, observer: c.Observer, invalid: c.Invalid, done: make(chan struct{})}
	if l.lines.most = c.MaxWaiting; l.lines.most < 1 {
		l.lines.most = DefaultMaxWaiting
	}
	if l.outcomes.now = c.Now; c.Now == nil {
		l.outcomes.now = time.Now
	}
	switch {
	case l.invalid != nil:
		l.store = noStore{}
	case l.store == nil:
		l.store, _ = memstore.New(memstore.Config{}) // the zero Config has no error
		l.owned = true
	}
	_, l.inMemory = l.store.(engine.Binder)
	return l
}

// Err returns why the limiter can decide nothing: an option that was invalid, or a store that was not opened.
func (l *Limiter) Err() error { return l.invalid }

// noStore is the store of a limiter that is invalid, so that every operation has an error before it gets here.
type noStore struct{}

// Do implements [engine.Store].
func (noStore) Do(context.Context, []engine.Op, []engine.Answer) {}

// Close implements [engine.Store].
func (noStore) Close() error { return nil }

// Close closes the limiter: later calls return [engine.ErrClosed]. It also closes the store if New created it. Close is
// idempotent.
func (l *Limiter) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	close(l.done)
	l.outcomes.close()
	l.lates.close()
	l.watching.Wait()
	if !l.owned {
		return nil
	}
	return l.store.Close()
}

// Closed reports whether Close was called.
func (l *Limiter) Closed() bool { return l.closed.Load() }

// Space returns a namespace as the limiter passes it to the store, with the limiter's own namespace as a prefix.
func (l *Limiter) Space(of string) string {
	if l.space == "" {
		return of
	}
	return l.space + ":" + of
}

// KeepRoom gives a namespace a part of the memory where its keys are counted, which the keys of other namespaces cannot
// fill: in a memory store, and in the layer that decides while a store is unavailable.
func (l *Limiter) KeepRoom(space string) {
	for store := range engine.Layers(l.store) {
		if memory, ok := store.(interface{ KeepRoom(spaces ...string) }); ok {
			memory.KeepRoom(space)
		}
	}
}

// adHoc returns the namespace for limits without a policy. Only servers have such limits.
func (l *Limiter) adHoc() string {
	if l.space == "" {
		return engine.DefaultSpace
	}
	return l.space
}

// Do decides up to [engine.MaxOps] operations in one call, in order. Each is atomic and has its own answer; answers is
// as long as ops. If there are more operations, every answer is an error. Do sets the limiter's namespace in operations
// that have none.
func (l *Limiter) Do(ctx context.Context, ops []engine.Op, answers []engine.Answer) {
	for i := range ops {
		if ops[i].Space == "" {
			ops[i].Space = l.adHoc()
		}
		answers[i].Reuse()
	}
	l.run(ctx, ops, answers)
	for i := range ops {
		if ops[i].Term != nil || ops[i].Reservation != nil && ops[i].Reservation.Term != nil {
			l.WatchTerms()
		}
	}
	l.observe(ctx, ops, answers)
}

// observe passes the answers to the observer. If it panics, the callers do not get their permits, so they are released.
func (l *Limiter) observe(ctx context.Context, ops []engine.Op, answers []engine.Answer) {
	if l.observer == nil {
		return
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		for i := range ops {
			if a := &answers[i]; ops[i].Kind.Takes() && (a.Allowed || a.Err != nil) {
				l.releaseLate(&ops[i], cmp.Or(a.Err, engine.ErrOutcomeUnknown))
			}
		}
	}()
	for i := range ops {
		l.observer(ctx, &ops[i], &answers[i])
	}
	returned = true
}

// Decide is Do with memory of its own.
func (l *Limiter) Decide(ctx context.Context, ops ...engine.Op) []engine.Answer {
	answers := make([]engine.Answer, len(ops))
	l.Do(ctx, ops, answers)
	return answers
}

// run adds the pending outcomes to the operations, checks the operations and sends them to the store.
func (l *Limiter) run(ctx context.Context, ops []engine.Op, answers []engine.Answer) {
	for i := range ops {
		if l.outcomes.count.Load() > 0 { // most programs report none, and need no lock
			l.outcomes.attach(&ops[i])
		}
		answers[i].Err = l.check(ctx, &ops[i], len(ops))
	}
	if ctx != nil { // otherwise every answer has an error
		l.store.Do(ctx, ops, answers)
	}
}

func (l *Limiter) check(ctx context.Context, op *engine.Op, ops int) error {
	switch {
	case l.invalid != nil:
		return l.invalid
	case l.closed.Load():
		return engine.ErrClosed
	case ctx == nil:
		return errNoContext
	case ops > engine.MaxOps:
		return engine.TooManyOps(ops)
	default:
		return op.Check()
	}
}

// endedUnless returns err, or ErrEnded if err is nil and the store no longer has the permit or reservation.
func endedUnless(has bool, err error) error {
	if err == nil && !has {
		return ErrEnded
	}
	return err
}
