package headgate

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Limiter asks a store for decisions. It is safe for use by many goroutines,
// and every verb keeps its context's deadline.
type Limiter struct {
	store    Store
	space    string
	observer Observer
	closed   atomic.Bool
}

// DefaultSpace is the name space of a Limiter that was given none.
const DefaultSpace = "headgate"

// LimiterOption sets something of a [Limiter].
type LimiterOption func(*Limiter)

// WithSpace puts the limiter's keys into a name space of their own, so that
// programs sharing a store do not share counters.
func WithSpace(space string) LimiterOption { return func(l *Limiter) { l.space = space } }

// WithObserver shows each decision to o.
func WithObserver(o Observer) LimiterOption { return func(l *Limiter) { l.observer = o } }

// New returns a Limiter on the store, which it closes when it is closed.
func New(store Store, options ...LimiterOption) *Limiter {
	l := &Limiter{store: store, space: DefaultSpace}
	for _, set := range options {
		set(l)
	}
	return l
}

// Close closes the store. Later calls answer [ErrClosed]; so does a second
// Close not: it does nothing.
func (l *Limiter) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	return l.store.Close()
}

// Allow takes one unit for the key, if the limit lets it pass. A refusal is a
// Decision; an error means that the decision is not known.
func (l *Limiter) Allow(ctx context.Context, key string, limit Limit) (Decision, error) {
	return l.single(ctx, OpTake, key, limit, 1)
}

// AllowN takes n units or none. Taking 0 is allowed and changes nothing.
func (l *Limiter) AllowN(ctx context.Context, key string, limit Limit, n int64) (Decision, error) {
	return l.single(ctx, OpTake, key, limit, n)
}

// AtMost takes as many units as pass now, up to n: [Decision.Granted] of them.
// None granted is a refusal, with the wait for one unit.
func (l *Limiter) AtMost(ctx context.Context, key string, limit Limit, n int64) (Decision, error) {
	return l.single(ctx, OpAtMost, key, limit, n)
}

// Peek answers as Allow would, and writes nothing.
func (l *Limiter) Peek(ctx context.Context, key string, limit Limit) (Decision, error) {
	return l.single(ctx, OpPeek, key, limit, 1)
}

// PeekN answers as AllowN would, and writes nothing.
func (l *Limiter) PeekN(ctx context.Context, key string, limit Limit, n int64) (Decision, error) {
	return l.single(ctx, OpPeek, key, limit, n)
}

// Give returns n units that were taken and not used. More than was spent cannot
// come back.
func (l *Limiter) Give(ctx context.Context, key string, limit Limit, n int64) (Decision, error) {
	return l.single(ctx, OpGive, key, limit, n)
}

// Reset forgets what the key has spent. It reports whether anything was stored.
func (l *Limiter) Reset(ctx context.Context, key string, limit Limit) (bool, error) {
	c := calls.Get().(*call)
	defer c.free()
	r := l.one(ctx, c, OpReset, key, limit, 0, "")
	return r.Found, r.Err
}

// AllowAll takes one unit of each limit, or none of any. Limits without a name are
// called 1, 2, … by their place, where there are several.
func (l *Limiter) AllowAll(ctx context.Context, key string, limits ...Limit) (Decision, error) {
	charges := make([]Charge, len(limits))
	for i, limit := range limits {
		charges[i] = Charge{Limit: limit, Cost: 1}
	}
	return l.Charge(ctx, key, charges...)
}

// Charge takes each charge's cost from its limit, or nothing from any. Limits
// without a name are called 1, 2, … by their place, where there are several.
func (l *Limiter) Charge(ctx context.Context, key string, charges ...Charge) (Decision, error) {
	if len(charges) > 1 {
		charges = slices.Clone(charges)
		for i := range charges {
			charges[i].Limit = charges[i].Limit.placed(i + 1)
		}
	}
	results := l.Do(ctx, []Op{{Kind: OpTake, Key: key, Charges: charges}})
	return results[0].Decision, results[0].Err
}

// Do decides many operations in one call: each atomic and answered on its own,
// in order. More than [MaxOps] is an error in every result.
func (l *Limiter) Do(ctx context.Context, ops []Op) []Result {
	results := make([]Result, len(ops))
	l.DoInto(ctx, slices.Clone(ops), results)
	return results
}

// DoInto is [Limiter.Do] into memory of the caller's: results is as long as ops
// and is overwritten, and the limiter's space is written into ops that have
// none.
func (l *Limiter) DoInto(ctx context.Context, ops []Op, results []Result) {
	for i := range ops {
		if ops[i].Space == "" {
			ops[i].Space = l.space
		}
		results[i] = Result{Err: l.check(&ops[i], len(ops))}
	}
	l.store.Do(ctx, ops, results)
	if l.observer != nil {
		for i := range ops {
			l.observer.Observe(ctx, &ops[i], &results[i])
		}
	}
}

func (l *Limiter) check(op *Op, ops int) error {
	if l.closed.Load() {
		return ErrClosed
	}
	if ops > MaxOps {
		return invalid("operations", ops, "1 to 1000 in one call")
	}
	return op.Check()
}

// call is the memory of one single-limit call, reused so that a decision
// allocates nothing.
type call struct {
	op      [1]Op
	charge  [1]Charge
	results [1]Result
}

var calls = sync.Pool{New: func() any {
	c := new(call)
	c.op[0].Charges = c.charge[:]
	return c
}}

// free drops what the caller passed in, and hands the memory back.
func (c *call) free() {
	c.op[0].Space, c.op[0].Key, c.op[0].ID = "", "", ""
	c.results[0].Err, c.results[0].Decision.States = nil, nil
	calls.Put(c)
}

func (l *Limiter) single(ctx context.Context, kind Kind, key string, limit Limit, n int64) (Decision, error) {
	c := calls.Get().(*call)
	defer c.free()
	r := l.one(ctx, c, kind, key, limit, n, "")
	return r.Decision, r.Err
}

// one runs a single-limit operation in the call's memory, of which it writes
// only what another call can have changed.
func (l *Limiter) one(ctx context.Context, c *call, kind Kind, key string, limit Limit, n int64, id string) *Result {
	op, r := &c.op[0], &c.results[0]
	op.Kind, op.Space, op.Key, op.ID = kind, l.space, key, id
	c.charge[0].Limit, c.charge[0].Cost = limit, n
	if kind > OpGive || l.observer != nil {
		*r = Result{} // another call's answer stood here, and not all of it is overwritten
	}
	r.Err = l.check(op, 1)
	l.store.Do(ctx, c.op[:], c.results[:])
	if r.Err != nil {
		r.Decision = Decision{}
	}
	if l.observer != nil {
		l.observer.Observe(ctx, op, r)
	}
	return r
}
