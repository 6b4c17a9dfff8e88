package headgate

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/memstore"
)

// Limiter decides whether requests may go in. Many goroutines can use it at once,
// and every verb keeps its context's deadline.
type Limiter struct {
	store    engine.Store
	made     bool // by New, so that Close closes it
	space    string
	observer Observer
	closed   atomic.Bool
}

// Option sets something of a [Limiter].
type Option func(*Limiter)

// Observer sees each operation after it was decided, in the goroutine that asked: it
// must be quick, and safe for many at once. The operation, the result and the bytes of
// their strings are valid during the call only. What an operation does not answer is
// zero in the result.
type Observer func(ctx context.Context, op *engine.Op, result *Result)

// WithStore has the limiter decide in a store, such as one on Redis. The store stays
// the caller's, who closes it after the limiter. By default a limiter has a store of
// its own in memory, for a million keys.
func WithStore(store engine.Store) Option { return func(l *Limiter) { l.store = store } }

// WithSpace puts the limiter's keys into a name space of their own, so that programs
// that share a store do not share counters. A policy's counters are then shared only
// by limiters of that name space. The default is "headgate", and "policy:NAME" for
// the policy NAME, as servers have it.
func WithSpace(space string) Option { return func(l *Limiter) { l.space = space } }

// WithObserver shows each decision to a function.
func WithObserver(o Observer) Option { return func(l *Limiter) { l.observer = o } }

// New returns a limiter. Without [WithStore] it decides in this process's memory.
func New(options ...Option) *Limiter {
	l := &Limiter{}
	for _, set := range options {
		set(l)
	}
	if l.store == nil {
		l.store, _ = memstore.New(memstore.Config{}) // the zero Config has no error
		l.made = true
	}
	return l
}

// Close ends the limiter: later calls answer [ErrClosed]. It closes the store that
// New made, and never one that the caller made. A second Close does nothing.
func (l *Limiter) Close() error {
	if l.closed.Swap(true) || !l.made {
		return nil
	}
	return l.store.Close()
}

// Allow takes one unit of a limit for the key, or one of each limit and none of any
// where there are several. Limits without a name are then called 1, 2, … by their
// place. Unnamed limits of one algorithm share a counter on a key; a [Policy] keeps
// the limits of different purposes apart.
//
// A refusal is a Decision, not an error. An error is an [*InputError] where the limit
// or key is at fault, the context's own, [ErrStoreUnavailable] where the decision is
// not known, or [ErrClosed].
func (l *Limiter) Allow(ctx context.Context, key string, limits ...Limit) (Decision, error) {
	if len(limits) > 1 {
		limits = placed(limits)
	}
	return l.decide(ctx, engine.OpAllow, l.adHoc(), key, limits, 1)
}

// adHoc is the name space of limits that belong to no policy.
func (l *Limiter) adHoc() string {
	if l.space == "" {
		return engine.DefaultSpace
	}
	return l.space
}

// placed gives limits without a name that of their place.
func placed(limits []Limit) []Limit {
	named := make([]Limit, len(limits))
	for i, limit := range limits {
		named[i] = limit.Placed(i + 1)
	}
	return named
}

func (l *Limiter) check(op *engine.Op, ops int) error {
	if l.closed.Load() {
		return ErrClosed
	}
	if ops > engine.MaxOps {
		return engine.TooManyOps(ops)
	}
	return op.Check()
}

// call is the memory of one operation, reused so that a decision allocates nothing.
type call struct {
	op      [1]engine.Op
	charges []engine.Charge
	results [1]engine.Result
}

var calls = sync.Pool{New: func() any { return &call{charges: make([]engine.Charge, 1)} }}

// free drops what the caller passed in, and hands the memory back.
func (c *call) free() {
	c.op[0].Space, c.op[0].Key, c.op[0].ID = "", "", ""
	c.results[0].Err, c.results[0].Outcome.Limits = nil, nil
	if len(c.charges) != 1 {
		clear(c.charges)
		c.charges = c.charges[:1]
	}
	calls.Put(c)
}

// decide runs an operation of a key on limits that are charged the same.
func (l *Limiter) decide(ctx context.Context, kind engine.Kind, space, key string, limits []Limit, units int64) (d Decision, err error) {
	c := calls.Get().(*call)
	defer c.free()
	r := l.ask(ctx, c, kind, space, key, limits, units, "")
	if r.Err != nil {
		return Decision{}, r.Err
	}
	d.read(&c.op[0], &r.Outcome)
	return d, nil
}

// ask runs an operation in the call's memory, of which it writes only what another
// call can have changed.
func (l *Limiter) ask(ctx context.Context, c *call, kind engine.Kind, space, key string, limits []Limit, units int64, id string) *engine.Result {
	op, r := &c.op[0], &c.results[0]
	op.Kind, op.Space, op.Key, op.ID = kind, space, key, id
	if len(limits) == 1 {
		c.charges[0].Limit, c.charges[0].Cost = limits[0], units
	} else {
		c.charges = c.charges[:0]
		for _, limit := range limits {
			c.charges = append(c.charges, engine.Charge{Limit: limit, Cost: units})
		}
	}
	op.Charges = c.charges
	if kind > engine.OpGive || l.observer != nil {
		*r = engine.Result{} // another call's answer stood here, and not all of it is overwritten
	}
	r.Err = l.check(op, 1)
	l.store.Do(ctx, c.op[:], c.results[:])
	if l.observer != nil {
		l.observe(ctx, op, r)
	}
	return r
}

func (l *Limiter) observe(ctx context.Context, op *engine.Op, r *engine.Result) {
	var result Result
	result.read(op, r)
	l.observer(ctx, op, &result)
}

// read makes the decision of an operation's outcome.
func (d *Decision) read(op *engine.Op, o *engine.Outcome) {
	limit := op.Charges[o.Binding].Limit
	d.Allowed, d.Unlimited, d.Granted = o.Allowed, limit.Unlimited(), o.Granted
	d.Limit, d.Remaining = o.Limit, o.Remaining
	d.RetryAfter, d.ResetAfter, d.Delay = o.RetryAfter, o.ResetAfter, o.Delay
	d.Binding = Binding{Index: o.Binding, Name: limit.Name(), Rate: limit.Rate(o.Window)}
	d.Limits, d.At, d.Promise, d.after = o.Limits, o.At(), o.Promise, o.After
}

// Result is the answer to one of several requests.
type Result struct {
	// Decision is the answer, valid where Err is nil.
	Decision Decision
	// Found answers a reset, an expiry and a release: whether there was anything.
	Found bool
	// TTL answers an expiry: the time until the counter equals an untouched one.
	TTL time.Duration
	// Err is set where the request was not decided, as [Limiter.Allow] says.
	Err error
}

func (r *Result) read(op *engine.Op, from *engine.Result) {
	r.Decision, r.Found, r.TTL, r.Err = Decision{}, from.Found, from.TTL, from.Err
	if from.Err == nil && op.Kind != engine.OpReset && op.Kind != engine.OpExpiry {
		r.Decision.read(op, &from.Outcome)
	}
}

// batch is the memory of the answers of one Do.
type batch struct{ results []engine.Result }

var batches = sync.Pool{New: func() any { return new(batch) }}

// Do decides operations in one call: each is atomic and answered on its own, in order.
// It is for servers and for what no other verb says; more than [engine.MaxOps] is an
// error in every result. The results are written into the memory given, which may be
// nil, and the limiter's name space into operations that have none.
func (l *Limiter) Do(ctx context.Context, ops []engine.Op, memory []Result) []Result {
	results := slices.Grow(memory[:0], len(ops))[:len(ops)]
	b := batches.Get().(*batch)
	b.results = b.results[:0]
	for i := range ops {
		if ops[i].Space == "" {
			ops[i].Space = l.adHoc()
		}
		b.results = append(b.results, engine.Result{Err: l.check(&ops[i], len(ops))})
	}
	l.store.Do(ctx, ops, b.results)
	for i := range ops {
		results[i].read(&ops[i], &b.results[i])
		if l.observer != nil {
			l.observer(ctx, &ops[i], &results[i])
		}
	}
	clear(b.results)
	batches.Put(b)
	return results
}
