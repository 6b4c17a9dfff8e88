package redisstore

import (
	"github.com/headgate/headgate/engine"
)

// A script holds up the server for all others, at a few µs for each limit that it
// reads and writes: so many a call at most. What else is asked of the same limit
// takes much less, in a run next to nothing.
const (
	callWork  = 128 * eachWork
	eachWork  = 4
	againWork = 1
	callOps   = 1024
)

// add puts an operation into a call of its slot that does what it needs, or into
// a new one. So the operations of a key stay in order: calls of a slot run in the
// order in which they are sent.
func (p *plan) add(i int) {
	op := &p.ops[i]
	does, f := kindOf(op)
	at := p.store.slotOf(op, 0)
	c, work := p.joins(op, does, at)
	if c == nil || len(c.ops) == callOps || c.work+work > callWork {
		c, work = p.call(), eachWork*len(op.Charges)
		c.sequence, c.family, c.slot = does, f, at
		if does == runs {
			c.group()
		}
	}
	if c.family != f {
		c.family = mixed
	}
	c.ops, c.work = append(c.ops, i), c.work+work
	if does == runs {
		c.grouping.add(p.ops, i)
	}
}

// joins returns the call that an operation may join, and what it adds to its
// work: the call that its key is in already, so that no two have it, or else the
// last.
func (p *plan) joins(op *engine.Op, does sequence, at uint16) (last *call, work int) {
	work = eachWork * len(op.Charges)
	for n := len(p.calls) - 1; n >= 0; n-- {
		c := &p.calls[n]
		if c.slot != at {
			continue
		}
		if c.sequence != does {
			break
		}
		if last == nil {
			last = c
		}
		if does != runs {
			break
		}
		if len(c.ops) < callOps && c.grouping.has(op) {
			return c, 0
		}
	}
	if last != nil && does == one && sameKey(op, &p.ops[last.ops[len(last.ops)-1]]) {
		work = againWork
	}
	return last, work
}

func sameKey(a, b *engine.Op) bool {
	_, first := a.Subject(0)
	_, second := b.Subject(0)
	return first == second
}

// call adds an empty call, in memory that an earlier one had.
func (p *plan) call() *call {
	if len(p.calls) < cap(p.calls) {
		p.calls = p.calls[:len(p.calls)+1]
	} else {
		p.calls = append(p.calls, call{})
	}
	c := &p.calls[len(p.calls)-1]
	*c = call{ops: c.ops[:0], grouping: c.grouping}
	return c
}

// group begins the call's grouping, in memory that an earlier one had.
func (c *call) group() {
	if c.grouping == nil {
		c.grouping = new(grouping)
	}
	c.grouping.start()
}

// forget lets go of the operations, and keeps the memory.
func (c *call) forget() {
	c.ops = c.ops[:0]
	if c.grouping != nil {
		c.grouping.start()
	}
}
