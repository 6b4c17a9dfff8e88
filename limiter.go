package headgate

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/memstore"
)

// Limiter decides whether requests may pass. It is safe for concurrent use. Every method respects the deadline of its
// context.
type Limiter struct {
	store    engine.Store
	owned    bool // New created the store, so Close closes it
	space    string
	observer func(ctx context.Context, op *engine.Op, r *result) // of package core
	observed func(ctx context.Context, r Result)                 // of WithObserver
	invalid  error                                               // the error of an invalid option
	closed   atomic.Bool
	done     chan struct{} // closed by Close
	inMemory bool          // the store is an engine.Binder: it never blocks, so no caller can leave during a decision
	lines    lines         // callers of Wait and Acquire
	names    names         // the limits of each policy and semaphore
	turns    turns         // calls that reserve units for waiting callers
	slots    slots         // callers with a reserved slot
	outcomes outcomes      // reported, but not yet sent to the store
	lates    lates         // permits whose acquire got no answer
	watch    sync.Once     // starts watching the terms of reservations
	watching sync.WaitGroup
}

// Option is an option of [New]. If an option is invalid, every method of the limiter and of its policies and semaphores
// returns an error, as does [Policy.Err].
type Option func(*Limiter)

// WithStore makes the limiter use the given store, such as one on Redis. The caller closes it after the limiter. By
// default a limiter creates its own store in memory, for a million keys. A store that is nil, or that could not be
// opened, is an invalid option: the limiter does not fall back to memory.
func WithStore(store engine.Store) Option {
	return func(l *Limiter) {
		if l.store = store; l.invalid == nil {
			l.invalid = checkStore(store)
		}
	}
}

// checkStore returns an error if the store, or a store that it wraps, is nil or was not opened.
func checkStore(store engine.Store) error {
	for {
		value := ""
		if isNil(store) {
			value = "nil"
		} else if failed, ok := store.(interface{ Err() error }); ok && failed.Err() != nil {
			value = "not open: " + failed.Err().Error()
		}
		if value != "" {
			return &engine.InputError{Field: "store", Value: value, Accepted: "a store that was opened without an error"}
		}
		layer, ok := store.(interface{ Unwrap() engine.Store })
		if !ok {
			return nil
		}
		store = layer.Unwrap()
	}
}

// WithSpace puts the limiter's keys into a separate namespace, so that programs on one store do not share counters.
// Only limiters with the same namespace share a policy's counters. By default the counters of ad-hoc limits are in
// "headgate" and those for the policy NAME in "policy:NAME", as in servers.
func WithSpace(space string) Option { return func(l *Limiter) { l.space = space } }

// New returns a limiter. By default it decides in the memory of this process; see [WithStore].
func New(options ...Option) *Limiter {
	l := &Limiter{done: make(chan struct{})}
	l.outcomes.now = time.Now
	for _, set := range options {
		if set == nil {
			l.invalid = missing("option", "the result of WithStore, WithSpace or WithObserver")
			continue
		}
		set(l)
	}
	switch {
	case l.invalid != nil:
		l.store = brokenStore{l.invalid}
	case l.store == nil:
		l.store, _ = memstore.New(memstore.Config{}) // the zero Config has no error
		l.owned = true
	}
	_, l.inMemory = l.store.(engine.Binder)
	return l
}

// Close closes the limiter: later calls return [ErrClosed]. It also closes the store if New created it. The caller
// closes a store passed with [WithStore]. Close is idempotent. If an option is invalid, it returns the option's error.
func (l *Limiter) Close() error {
	if l = l.orBroken(); l.invalid != nil {
		return l.invalid
	}
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

// adHoc returns the namespace for limits without a policy. Only servers have such limits.
func (l *Limiter) adHoc() string {
	if l.space == "" {
		return engine.DefaultSpace
	}
	return l.space
}

// placed returns a copy of limits with each unnamed limit named by its position, from 1.
func placed(limits []engine.Limit) []engine.Limit {
	named := make([]engine.Limit, len(limits))
	for i, limit := range limits {
		named[i] = limit.WithPosition(i + 1)
	}
	return named
}

// run adds the pending outcomes to the operations, checks the operations and sends them to the store.
func (l *Limiter) run(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	for i := range ops {
		l.report(&ops[i])
		results[i].Err = l.check(ctx, &ops[i], len(ops))
	}
	if ctx != nil { // otherwise every result has an error
		l.store.Do(ctx, ops, results)
	}
}

func (l *Limiter) check(ctx context.Context, op *engine.Op, ops int) error {
	switch {
	case l.invalid != nil:
		return l.invalid
	case l.closed.Load():
		return ErrClosed
	case ctx == nil:
		return errNoContext
	case ops > engine.MaxOps:
		return engine.TooManyOps(ops)
	default:
		return op.Check()
	}
}

// inSpace prefixes space with the limiter's own namespace.
func (l *Limiter) inSpace(space string) string {
	if l.space == "" {
		return space
	}
	return l.space + ":" + space
}

// opBuffers holds the buffers for one operation. They are pooled, so that a decision does not allocate.
type opBuffers struct {
	op      [1]engine.Op
	charges []engine.Charge
	results [1]engine.Answer
}

var calls = sync.Pool{New: func() any { return &opBuffers{charges: make([]engine.Charge, 1)} }}

// free clears references to the caller's data and returns the buffers to the pool.
func (c *opBuffers) free() {
	c.op[0].Space, c.op[0].Key, c.op[0].ID = "", "", ""
	c.results[0].Reuse()
	if len(c.charges) != 1 {
		clear(c.charges)
		c.charges = c.charges[:1]
	}
	calls.Put(c)
}

// ask runs an operation in the buffers of c. It sets only the fields that an earlier use can have changed.
func (l *Limiter) ask(ctx context.Context, c *opBuffers, kind engine.Kind, space, key string, of group, units int64, id string) *engine.Answer {
	op, r := &c.op[0], &c.results[0]
	op.Kind, op.Space, op.Key, op.ID = kind, space, key, id
	if len(of.limits) == 1 {
		c.charges[0].Limit, c.charges[0].Cost, c.charges[0].Report = of.limits[0], units, nil
	} else {
		c.charges = of.charges(c.charges[:0], units)
	}
	op.Charges = c.charges
	l.run(ctx, c.op[:], c.results[:])
	if l.isObserved() {
		l.observe(ctx, op, r)
	}
	return r
}

// decisionOf returns the decision of a policy on an operation, or the zero Decision if there is none.
func decisionOf(op *engine.Op, a *engine.Answer, policy string) (d Decision) {
	if a.Err == nil {
		d.readOp(op, a)
		d.of(policy)
	}
	return d
}

// of sets the name of the policy that all limits belong to.
func (d *Decision) of(policy string) {
	d.Binding.Policy = policy
	for i := range d.Limits {
		d.Limits[i].Policy = policy
	}
}

// readOp fills in the decision on an operation.
func (d *Decision) readOp(op *engine.Op, a *engine.Answer) {
	d.read(a, func(i int) engine.Limit { return op.Charges[i].Limit })
	if a.Choice != 0 {
		d.Paid = op.Charges[a.Paid(op)].Limit.Name()
	}
}

// report adds pending outcomes to an operation. Most programs report none, so it first checks their number without a
// lock.
func (l *Limiter) report(op *engine.Op) {
	if l.outcomes.count.Load() > 0 {
		l.outcomes.attach(op)
	}
}
