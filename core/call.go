package core

import (
	"context"
	"sync"

	"github.com/headgate/headgate/engine"
)

// Call is one operation and its answer, in pooled memory, so that a decision does not allocate. Its user reads the
// answer and then calls Free.
type Call struct {
	ops     [1]engine.Op
	charges []engine.Charge
	answers [1]engine.Answer
}

var calls = sync.Pool{New: func() any { return &Call{charges: make([]engine.Charge, 1)} }}

// Op returns the operation.
func (c *Call) Op() *engine.Op { return &c.ops[0] }

// Answer returns the answer.
func (c *Call) Answer() *engine.Answer { return &c.answers[0] }

// Free clears references to the caller's data and returns the memory to the pool.
func (c *Call) Free() {
	c.ops[0].Space, c.ops[0].Key, c.ops[0].ID = "", "", ""
	c.answers[0].Reuse()
	if len(c.charges) != 1 {
		clear(c.charges)
		c.charges = c.charges[:1]
	}
	calls.Put(c)
}

// Ask runs an operation on the policy's limits of a key. It sets only the fields that an earlier use can have changed.
func (p *Policy) Ask(ctx context.Context, kind engine.Kind, key string, units int64) *Call {
	c := calls.Get().(*Call)
	p.ask(ctx, c, kind, key, units, "")
	return c
}

func (p *Policy) ask(ctx context.Context, c *Call, kind engine.Kind, key string, units int64, id string) {
	op := &c.ops[0]
	op.Kind, op.Space, op.Key, op.ID = kind, p.space, key, id
	if len(p.limits) == 1 {
		c.charges[0].Limit, c.charges[0].Cost, c.charges[0].Report = p.limits[0], units, nil
	} else {
		c.charges = p.Charges(c.charges[:0], units)
	}
	op.Charges = c.charges
	p.limiter.run(ctx, c.ops[:], c.answers[:])
	p.limiter.observe(ctx, c.ops[:], c.answers[:])
}

// List runs an operation that fill makes, with the memory of c.charges. If fill returns an error, the answer has it.
func (l *Limiter) List(ctx context.Context, fill func(op *engine.Op) error) *Call {
	c := calls.Get().(*Call)
	op := &c.ops[0]
	*op = engine.Op{Charges: c.charges[:0]}
	if err := fill(op); err != nil {
		c.answers[0].Err = err
		return c
	}
	l.run(ctx, c.ops[:], c.answers[:])
	l.observe(ctx, c.ops[:], c.answers[:])
	l.releaseLate(op, c.answers[0].Err)
	return c
}

// FreeList is Free for a call of List.
func (c *Call) FreeList() {
	clear(c.ops[0].Charges)
	if cap(c.ops[0].Charges) > cap(c.charges) {
		c.charges = c.ops[0].Charges
	}
	c.charges = c.charges[:1]
	c.ops[0] = engine.Op{}
	c.answers[0].Reuse()
	calls.Put(c)
}
