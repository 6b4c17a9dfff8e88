package headgate

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
)

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
	clear(c.charges[1:])
	c.charges = c.charges[:1]
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
