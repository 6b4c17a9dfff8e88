package redisstore

import (
	"slices"
	"strings"
	"sync"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// A script call blocks the server for all its clients, by a few µs for each limit that it reads and writes, so the work
// of one call is bounded. Another operation on a limit that the call has already read costs much less, and almost
// nothing if operations are merged.
const (
	maxCallWork  = 128 * limitWork
	limitWork    = 4 // for a limit that the call reads and writes
	repeatedWork = 1 // for another operation on the same limit
	maxCallOps   = 1024
)

// pipeline holds the operations of one Do, grouped into script calls, and the buffers for them. It is reused.
type pipeline struct {
	store   *Store
	ops     []engine.Op
	results []engine.Answer
	calls   []scriptCall // calls to be sent
	steps   []algo.Step  // of the operation whose answer is being decoded
	body    []byte       // buffer for the reservation being encoded
	// undelayed is set for a part of a reserve if the limits on the other slots cannot delay their callers.
	undelayed bool
	// denied is set for one slot's part of an operation whose limits are on several slots, if another slot has denied
	// the request. It is the wait in µs.
	denied int64

	// The fields for one round trip:
	commands []Command
	replies  []Reply
	sent     []int               // commands[i] belongs to calls[sent[i]]
	unacked  map[string]struct{} // keys written by unanswered calls
	args     []string            // the arguments of all commands

	// The fields for the command being encoded. All its arguments are in one text, so that they need only one
	// allocation.
	text     []byte
	argEnds  []int // where each argument ends in text
	keyCount int   // number of first arguments that are keys
}

type scriptCall struct {
	template template
	family   family
	slot     uint16
	ops      []int   // indices in pipeline.ops
	of       *script // sent last
	work     int
	merger   *merger // the operations of a call of merge.lua
	// stale is true if the merger may still contain operations that were answered and are no longer in ops.
	stale    bool
	sendText bool // send the script's text, because the server does not know its hash
	moving   bool // the slot is moving to another node, so pause before the next try
	tries    int
}

var pipelines = sync.Pool{New: func() any { return new(pipeline) }}

func (p *pipeline) start(s *Store, ops []engine.Op, results []engine.Answer) {
	p.store, p.ops, p.results = s, ops, results
	if cap(p.steps) < engine.MaxCharges {
		p.steps = make([]algo.Step, engine.MaxCharges)
	}
}

// free drops references to the caller's data and returns the pipeline to the pool.
func (p *pipeline) free() {
	p.clear()
	used := 1
	for i := range p.ops {
		used = max(used, len(p.ops[i].Charges))
	}
	clear(p.steps[:min(used, engine.MaxCharges)]) // clearing all steps would take a tenth of a call's time
	p.store, p.ops, p.results = nil, nil, nil
	pipelines.Put(p)
}

// clear removes the pipeline's calls, but keeps their buffers.
func (p *pipeline) clear() {
	for i := range p.calls {
		p.calls[i].clear()
	}
	p.clearRoundTrip()
	p.calls = p.calls[:0]
}

func (p *pipeline) clearRoundTrip() {
	clear(p.commands)
	clear(p.replies)
	clear(p.args)
	clear(p.unacked)
	p.commands, p.replies, p.args, p.sent = p.commands[:0], p.replies[:0], p.args[:0], p.sent[:0]
}

// clear removes the call's operations, but keeps their buffers.
func (c *scriptCall) clear() {
	c.ops = c.ops[:0]
	if c.merger != nil {
		c.merger.clear()
	}
}

// add adds an operation to a script call of its slot: to a call with the same template, or to a new call. Calls of one
// slot run in the order in which they are sent, so the operations on a key stay in order.
func (p *pipeline) add(i int) {
	op := &p.ops[i]
	t, f := scriptFor(op)
	if p.denied > 0 {
		t = several // the only template that receives a denial by another slot
	}
	var slot uint16
	if p.store.conn.Cluster() {
		slot = p.store.slotOf(op, 0)
	}
	c, work := p.callFor(op, t, slot)
	if c == nil || len(c.ops) == maxCallOps || c.work+work > maxCallWork {
		c, work = p.newCall(), workOf(op)
		c.template, c.family, c.slot = t, f, slot
		if t == merged && c.merger == nil {
			c.merger = newMerger()
		}
	}
	if c.family != f {
		c.family = familyMixed
	}
	c.ops, c.work = append(c.ops, i), c.work+work
	if t == merged {
		c.merger.add(p.ops, i)
	}
}

func scriptFor(op *engine.Op) (template, family) {
	f := families[op.Charges[0].Limit.Algorithm()]
	for i := range op.Charges {
		if families[op.Charges[i].Limit.Algorithm()] != f {
			f = familyMixed
		}
	}
	switch {
	case op.Kind == engine.OpReset || op.Kind == engine.OpExpiry:
		return lookup, f
	case op.Kind >= engine.OpAcquire && op.Kind <= engine.OpRelease:
		return permits, f
	case op.Kind == engine.OpReserve || op.Kind == engine.OpSettle:
		return reserve, f
	case mergeable(op):
		return merged, f
	case len(op.Charges) > 1:
		return several, f
	default:
		return single, f
	}
}

// callFor returns the call that an operation joins, and the work that the operation adds to it. Usually this is the
// last call of the operation's slot. For a merged operation, callFor prefers an earlier call that has the same key and
// is not full. It does not look beyond a call of another template, because the operation must not overtake that call.
// The returned call may be full. It is nil if the slot has no call yet, or if its last call has another template.
func (p *pipeline) callFor(op *engine.Op, t template, slot uint16) (last *scriptCall, work int) {
	work = workOf(op)
	for n := len(p.calls) - 1; n >= 0; n-- {
		c := &p.calls[n]
		if c.slot != slot {
			continue
		}
		if c.template != t {
			break // the operation must not overtake the operations in c
		}
		if last == nil {
			last = c
		}
		if t != merged {
			break
		}
		if len(c.ops) < maxCallOps && c.merger.has(op) {
			return c, 0
		}
	}
	if last != nil && t == single && sameKey(op, &p.ops[last.ops[len(last.ops)-1]]) {
		work = repeatedWork
	}
	return last, work
}

// workOf returns the work of an operation whose limits the call has not read yet.
func workOf(op *engine.Op) int { return limitWork * len(op.Charges) }

func sameKey(a, b *engine.Op) bool {
	_, first := a.Counted(0)
	_, second := b.Counted(0)
	return first == second
}

// newCall adds an empty call. It reuses the buffers of an earlier call if possible.
func (p *pipeline) newCall() *scriptCall {
	if len(p.calls) < cap(p.calls) {
		p.calls = p.calls[:len(p.calls)+1]
	} else {
		p.calls = append(p.calls, scriptCall{})
	}
	c := &p.calls[len(p.calls)-1]
	*c = scriptCall{ops: c.ops[:0], merger: c.merger}
	return c
}

// sortByKey groups the operations by key, in their order, so that single.lua reads and writes each history or fair
// share once. All operations of a call are decided at one instant, so the order of the keys does not matter.
func (p *pipeline) sortByKey(ops []int) {
	slices.SortStableFunc(ops, func(a, b int) int {
		_, first := p.ops[a].Counted(0)
		_, second := p.ops[b].Counted(0)
		return strings.Compare(first, second)
	})
}
