package redisstore

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// plan is the memory of one Do: which operations travel in which script call.
// It is reused.
type plan struct {
	store    *Store
	ops      []engine.Op
	results  []engine.Result
	calls    []call
	commands []Command
	replies  []Reply
	steps    []algo.Step
	packed   []byte
	sent     []int               // the calls that have left, by place
	busy     map[string]struct{} // keys of calls that are not answered
	args     []string            // of all commands
	ends     []int               // of a command's arguments in packed
	keys     int                 // how many of them are keys
}

// call is one script call.
type call struct {
	sequence sequence
	family   family
	slot     uint16
	ops      []int // indices
	work     int
	grouping *grouping // of the sequence runs: what is in ops, unless stale
	stale    bool
	eval     bool // send the script itself: the server does not know it
	moving   bool // the slot is on the move: wait a little
	tries    int
}

var plans = sync.Pool{New: func() any { return new(plan) }}

func (p *plan) start(s *Store, ops []engine.Op, results []engine.Result) {
	p.store, p.ops, p.results = s, ops, results
	if cap(p.steps) < engine.MaxCharges {
		p.steps = make([]algo.Step, engine.MaxCharges)
	}
}

func (p *plan) free() {
	p.clear()
	clear(p.steps)
	p.store, p.ops, p.results = nil, nil, nil
	plans.Put(p)
}

// clear forgets the calls.
func (p *plan) clear() {
	for i := range p.calls {
		p.calls[i].forget()
	}
	clear(p.commands)
	clear(p.replies)
	clear(p.busy)
	clear(p.args)
	p.calls, p.commands, p.replies, p.args = p.calls[:0], p.commands[:0], p.replies[:0], p.args[:0]
}

// kindOf returns the sequence and the family that decide an operation.
func kindOf(op *engine.Op) (sequence, family) {
	f := families[op.Charges[0].Limit.Algorithm()]
	for i := range op.Charges {
		if families[op.Charges[i].Limit.Algorithm()] != f {
			f = mixed
		}
	}
	switch {
	case op.Kind == engine.OpReset || op.Kind == engine.OpExpiry:
		return lookup, f
	case op.Kind >= engine.OpAcquire:
		return hold, f
	case coalesces(op):
		return runs, f
	case len(op.Charges) > 1:
		return several, f
	default:
		return one, f
	}
}

// command makes the command of a call.
func (p *plan) command(c *call, now int64, clock func() time.Time) Command {
	script := p.store.scripts.get(c.sequence, c.family)
	from := len(p.args)
	if c.eval {
		p.args = append(p.args, "EVAL", script.body, "")
	} else {
		p.args = append(p.args, "EVALSHA", script.sha, "")
	}
	if c.sequence == runs {
		p.runArgs(c, now)
	} else {
		p.opArgs(c, now)
	}
	if clock != nil {
		p.args = append(p.args, strconv.FormatInt(now, 10))
	}
	args := p.args[from:len(p.args):len(p.args)]
	args[2] = strconv.Itoa(p.keys)
	return Command{Key: args[3], Args: args}
}

// opArgs appends the keys and arguments of a call of operations.
func (p *plan) opArgs(c *call, now int64) {
	if c.sequence == one && len(c.ops) > 1 {
		p.together(c.ops)
	}
	p.begin()
	for _, i := range c.ops {
		p.packed = p.store.appendKeys(p.packed, &p.ops[i], p.end)
	}
	for _, i := range c.ops {
		p.packed = encode(p.packed, &p.ops[i], now, c.sequence)
		p.end(p.packed, false)
	}
	p.cut()
}

// together puts operations on one key beside each other, in their order, for the
// script to decide with one read and one write. All of a call are decided at one
// instant: those on other keys do not mind.
func (p *plan) together(ops []int) {
	slices.SortStableFunc(ops, func(a, b int) int {
		_, first := p.ops[a].Subject(0)
		_, second := p.ops[b].Subject(0)
		return strings.Compare(first, second)
	})
}

// runArgs appends the keys and arguments of a call of runs.
func (p *plan) runArgs(c *call, now int64) {
	if c.stale {
		c.grouping.start()
		for _, i := range c.ops {
			c.grouping.add(p.ops, i)
		}
		c.stale = false
	}
	p.begin()
	p.packed = c.grouping.arguments(p.packed, p.store, p.ops, now, p.end)
	p.cut()
}

// begin, end and cut make many arguments of one text: one piece of memory.
func (p *plan) begin() { p.packed, p.ends, p.keys = p.packed[:0], p.ends[:0], 0 }

func (p *plan) end(text []byte, isKey bool) {
	p.ends = append(p.ends, len(text))
	if isKey {
		p.keys++
	}
}

func (p *plan) cut() {
	text, from := string(p.packed), 0
	for _, end := range p.ends {
		p.args = append(p.args, text[from:end])
		from = end
	}
}
