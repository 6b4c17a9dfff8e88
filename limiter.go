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

// Limiter decides whether requests may pass. It is safe for use by many goroutines. Every verb respects the deadline
// of its context.
type Limiter struct {
	store    engine.Store
	made     bool // New created the store, so Close closes it
	space    string
	observer func(ctx context.Context, op *engine.Op, result *Result)
	replicas engine.Replicas // for operations that do not set it
	oneStep  bool            // lists that need several steps are errors
	invalid  error           // error of an option
	closed   atomic.Bool
	done     chan struct{} // closed by Close
	inMemory bool          // the store is an engine.Binder, which decides without blocking, so no caller leaves meanwhile
	lines    lines         // callers that wait
	turns    turns         // callers that reserve
	seats    seats         // callers with a reserved slot
	watch    sync.Once     // starts watching the terms of reservations
	watching sync.WaitGroup
}

// Option is an option of [New].
type Option func(*Limiter)

// WithStore makes the limiter use the given store, such as one on Redis. The caller closes it after the limiter. By
// default a limiter creates its own store in memory, for a million keys. With a nil store every verb returns an
// error; the limiter does not fall back to memory.
func WithStore(store engine.Store) Option {
	return func(l *Limiter) {
		if l.store = store; store == nil {
			l.store = noStore{}
		}
	}
}

// noStore is the store of a limiter that was given a nil store.
type noStore struct{}

// Do sets an error for every operation.
func (noStore) Do(_ context.Context, _ []engine.Op, results []engine.Result) {
	for i := range results {
		if results[i].Err == nil {
			results[i].Err = &InputError{Field: "store", Value: "nil", Accepted: "a store that was opened without an error"}
		}
	}
}

func (noStore) Close() error { return nil }

// WithSpace puts the limiter's keys into a separate name space, so that programs on one store do not share counters.
// Only limiters with the same name space then share a policy's counters. By default ad-hoc limits are in "headgate"
// and the policy NAME is in "policy:NAME", as in servers.
func WithSpace(space string) Option { return func(l *Limiter) { l.space = space } }

// WithAtomic rejects a list of charges whose keys are on several slots of a Redis Cluster, instead of deciding it
// slot by slot ([engine.Split]). Keys with the same text in braces are on one slot, such as "{acme}:ann" and
// "{acme}:bob". Other stores decide every list in one step.
func WithAtomic() Option { return func(l *Limiter) { l.oneStep = true } }

// WithReplicas makes the limiter allow a charge only when this many replicas of the Redis have it: 1 to
// [engine.MaxReplicas], within a time of 1 ms to [engine.MaxReplicaWait]. If fewer have it by then, the error is
// [ErrNotReplicated], and the charge stays. Waiting does not make a failover lossless, because a replica without the
// charge can be promoted. A store in memory has no replicas and ignores this option. Values out of range are an error
// of every verb.
func WithReplicas(replicas int, within time.Duration) Option {
	return func(l *Limiter) { l.replicas, l.invalid = engine.NewReplicas(replicas, within) }
}

// WithObserver sets a function that is called after each decided operation, in the caller's goroutine. It must be
// fast and safe for concurrent calls. The operation, the result and the bytes of their strings are valid only during
// the call. Result fields that do not apply to the kind of operation are zero.
func WithObserver(observer func(ctx context.Context, op *engine.Op, result *Result)) Option {
	return func(l *Limiter) { l.observer = observer }
}

// New returns a limiter. Without [WithStore] it decides in the memory of this process.
func New(options ...Option) *Limiter {
	l := &Limiter{done: make(chan struct{})}
	for _, set := range options {
		set(l)
	}
	if l.store == nil {
		l.store, _ = memstore.New(memstore.Config{}) // the zero Config has no error
		l.made = true
	}
	_, l.inMemory = l.store.(engine.Binder)
	return l
}

// Close closes the limiter: later calls return [ErrClosed]. It closes a store that New created, but not a store
// passed by the caller. Close is idempotent.
func (l *Limiter) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	close(l.done)
	l.watching.Wait()
	if !l.made {
		return nil
	}
	return l.store.Close()
}

// Allow charges the key one unit of the limit. With several limits it charges one unit of each, or nothing at all;
// unnamed limits are then named 1, 2, … by position. Unnamed limits of one algorithm share a counter on a key. Use a
// [Policy] to separate limits for different purposes.
//
// A denial is a Decision, not an error. The error is an [*InputError] if the limit or the key is invalid, the
// context's own error, [ErrStoreUnavailable] if the decision is not known, [ErrNotReplicated], or [ErrClosed].
func (l *Limiter) Allow(ctx context.Context, key string, limits ...Limit) (d Decision, err error) {
	if len(limits) > 1 {
		limits = placed(limits)
	}
	err = l.decide(ctx, &d, engine.OpAllow, "", l.adHoc(), key, group{limits: limits}, 1)
	return d, err
}

// adHoc returns the name space of limits without a policy.
func (l *Limiter) adHoc() string {
	if l.space == "" {
		return engine.DefaultSpace
	}
	return l.space
}

// placed names each unnamed limit by its position, from 1.
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
	if l.invalid != nil {
		return l.invalid
	}
	if ops > engine.MaxOps {
		return engine.TooManyOps(ops)
	}
	return op.Check()
}

// InSpace returns the name space that this limiter uses for space: prefixed with its own if [WithSpace] set one,
// otherwise unchanged. It is for operations of [Limiter.Do].
func (l *Limiter) InSpace(space string) string {
	if l.space == "" {
		return space
	}
	return l.space + ":" + space
}

// call is the memory for one operation. It is reused so that a decision allocates nothing.
type call struct {
	op      [1]engine.Op
	charges []engine.Charge
	results [1]engine.Result
}

var calls = sync.Pool{New: func() any { return &call{charges: make([]engine.Charge, 1)} }}

// free clears the caller's strings, errors and lists, and returns the memory to the pool.
func (c *call) free() {
	c.op[0].Space, c.op[0].Key, c.op[0].ID = "", "", ""
	c.results[0].Err, c.results[0].Outcome.Limits = nil, nil
	if len(c.charges) != 1 {
		clear(c.charges)
		c.charges = c.charges[:1]
	}
	calls.Put(c)
}

// decide runs an operation on one key, with the same charge on each limit. It fills in d instead of returning it,
// because copying a decision costs a tenth of making one in memory. d must be zero; an error leaves it so.
func (l *Limiter) decide(ctx context.Context, d *Decision, kind engine.Kind, policy, space, key string, of group, units int64) error {
	c := calls.Get().(*call)
	defer c.free()
	r := l.ask(ctx, c, kind, space, key, of, units, "")
	if r.Err != nil {
		return r.Err
	}
	d.read(&c.op[0], &r.Outcome)
	d.Binding.Policy = policy
	return nil
}

// ask runs an operation in the call's memory. It writes only the fields that an earlier use can have changed.
func (l *Limiter) ask(ctx context.Context, c *call, kind engine.Kind, space, key string, of group, units int64, id string) *engine.Result {
	op, r := &c.op[0], &c.results[0]
	op.Kind, op.Space, op.Key, op.ID, op.Replicas = kind, space, key, id, l.replicas
	if len(of.limits) == 1 {
		c.charges[0].Limit, c.charges[0].Cost = of.limits[0], units
	} else {
		c.charges = of.charges(c.charges[:0], units)
	}
	op.Charges = c.charges
	if kind > engine.OpGive || l.observer != nil {
		*r = engine.Result{} // clears an earlier answer that the store would overwrite only in part
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

// read fills in the decision from an operation's outcome.
func (d *Decision) read(op *engine.Op, o *engine.Outcome) {
	limit := op.Charges[o.Binding].Limit
	d.Allowed, d.Unlimited, d.Granted = o.Allowed, limit.Unlimited(), o.Granted
	d.Limit, d.Remaining = o.Limit, o.Remaining
	d.RetryAfter, d.ResetAfter, d.Delay = o.RetryAfter, o.ResetAfter, o.Delay
	d.Binding.Index, d.Binding.Name, d.Binding.Rate = o.Binding, limit.Name(), limit.Rate(o.Window)
	d.Binding.Earlier = limit.Earlier(o.Window)
	d.Limits, d.At, d.Promise = o.Limits, o.At(), o.Promise
	if o.Choice != 0 {
		d.Paid = op.Charges[o.Paid(op)].Limit.Name()
	}
}

// Result is the answer to one of several requests.
type Result struct {
	// Decision is the answer. It is valid if Err is nil.
	Decision Decision
	// Found is set by a reset, an expiry, a release and a settle: it reports whether there was anything to find or
	// settle.
	Found bool
	// Dropped is set by a settle: the number of used units that could not be charged, of the limit with the most.
	Dropped int64
	// TTL is set by an expiry: the time until the counter is full again.
	TTL time.Duration
	// Reservation is set by an allowed reserve, and by an allowed allow with Settled ([engine.Op].Settled).
	Reservation *Reservation
	// Err is set if the request was not decided. [Limiter.Allow] lists the errors.
	Err error
}

func (r *Result) read(op *engine.Op, from *engine.Result) {
	*r = Result{Found: from.Found, Dropped: from.Outcome.Dropped, TTL: from.TTL, Err: from.Err}
	if from.Err == nil && op.Kind != engine.OpReset && op.Kind != engine.OpExpiry {
		r.Decision.read(op, &from.Outcome)
	}
}

// batch is the memory for the results of one Do.
type batch struct{ results []engine.Result }

var batches = sync.Pool{New: func() any { return new(batch) }}

// Do decides up to [engine.MaxOps] operations in one call, in order. Each is atomic and has its own result. It is for
// servers, and for operations that have no verb of their own. With more operations, every result has an error. The
// results are written into memory, which may be nil. Do sets the limiter's name space in operations that have none.
func (l *Limiter) Do(ctx context.Context, ops []engine.Op, memory []Result) []Result {
	results := slices.Grow(memory[:0], len(ops))[:len(ops)]
	b := batches.Get().(*batch)
	b.results = b.results[:0]
	for i := range ops {
		if ops[i].Space == "" {
			ops[i].Space = l.adHoc()
		}
		if ops[i].Replicas.Count == 0 {
			ops[i].Replicas = l.replicas
		}
		b.results = append(b.results, engine.Result{Err: l.check(&ops[i], len(ops))})
	}
	l.store.Do(ctx, ops, b.results)
	for i := range ops {
		if ops[i].Term != nil || ops[i].Reservation != nil && ops[i].Reservation.Term != nil {
			l.WatchTerms()
		}
		results[i].read(&ops[i], &b.results[i])
		if ops[i].Kind == engine.OpReserve || ops[i].Kind == engine.OpAllow && ops[i].Settled {
			results[i].Reservation = l.reserved(&ops[i], &b.results[i], true).reservation
		}
		if l.observer != nil {
			l.observer(ctx, &ops[i], &results[i])
		}
	}
	clear(b.results)
	batches.Put(b)
	return results
}
