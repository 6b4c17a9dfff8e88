package redisstore

import (
	"encoding/binary"
	"slices"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// A call of the sequence "runs" decides takes, peeks and gives of buckets and
// fixed windows. What is asked of one key travels as one run, and its state is
// read and written once; the server answers with the state that it found, and
// the steps of package algo find each operation's answer, in order, as it would
// have been alone.

// group is the runs of one limit in a call.
type group struct {
	limit       engine.Limit
	kind        int32 // the keys' head
	first, last int32 // its runs
	runs        int
	each        int64 // the cost, where every run is one take of it
}

// run is what is asked of one key.
type run struct {
	key         string // the subject
	group       int32
	next        int32 // of the group
	first, last int32 // its operations, linked by grouping.next
	spends      bool
	closed      bool // what comes next of this key is under other numbers
}

// kind is the beginning of the names of keys.
type kind struct {
	space, name string
	algorithm   algo.Algorithm
	grid        algo.Grid
}

func kindOfKeys(space string, limit engine.Limit) kind {
	return kind{space: space, name: limit.Name(), algorithm: limit.Algorithm(), grid: limit.Numbers().Grid()}
}

type subject struct {
	kind int32
	key  string
}

// grouping is the memory in which a call's operations are put together.
type grouping struct {
	groups []group
	runs   []run
	kinds  []kind
	next   []int32
	place  map[subject]int32
	later  []int // operations whose key is asked under other numbers before
}

const none = -1

// coalesces reports whether an operation can be part of a run.
func coalesces(op *engine.Op) bool {
	if len(op.Charges) != 1 {
		return false
	}
	l := op.Charges[0].Limit.Numbers()
	switch l.Algorithm {
	case algo.TokenBucket, algo.Pacer:
		if whole, _ := l.Depth(); whole >= unitsMax {
			return false // the script counts to less, and is the one that knows
		}
	case algo.FixedWindow:
		if op.Kind == engine.OpGive && !op.Taken.IsZero() {
			return false
		}
	default:
		return false
	}
	return op.Kind == engine.OpAllow || op.Kind == engine.OpPeek || op.Kind == engine.OpGive
}

// start forgets a call's operations, and the strings of their callers.
func (g *grouping) start() {
	if g.place == nil {
		g.place = map[subject]int32{}
	}
	clear(g.place)
	clear(g.groups)
	clear(g.runs)
	clear(g.kinds)
	g.groups, g.runs, g.kinds, g.later = g.groups[:0], g.runs[:0], g.kinds[:0], g.later[:0]
}

// has reports whether an operation's key is in the call.
func (g *grouping) has(op *engine.Op) bool {
	space, key := op.Subject(0)
	limit := op.Charges[0].Limit
	at := slices.Index(g.kinds, kindOfKeys(space, limit))
	if at < 0 {
		return false
	}
	_, there := g.place[subject{kind: int32(at), key: key}]
	return there
}

// add puts an operation to those of its key.
func (g *grouping) add(ops []engine.Op, i int) {
	if len(g.next) < len(ops) {
		g.next = append(g.next, make([]int32, len(ops)-len(g.next))...)
	}
	op := &ops[i]
	space, key := op.Subject(0)
	at := g.group(op.Charges[0].Limit, space)
	s := subject{kind: g.groups[at].kind, key: key}
	place, known := g.place[s]
	switch {
	case !known:
		place = int32(len(g.runs))
		g.place[s] = place
		g.runs = append(g.runs, run{key: key, group: at, next: none, first: int32(i), last: int32(i)})
		g.groups[at].append(g.runs, place)
	case g.runs[place].group != at || g.runs[place].closed:
		// Whatever comes after it on its key waits for it.
		g.runs[place].closed = true
		g.later = append(g.later, i)
		if of := &g.groups[at]; of.runs == 0 {
			g.groups = g.groups[:at] // it was made for this one
		}
		return
	default:
		g.next[g.runs[place].last] = int32(i)
		g.runs[place].last = int32(i)
	}
	g.next[i] = none
	cost := op.Charges[0].Cost
	takes := op.Kind == engine.OpAllow && cost > 0
	r, of := &g.runs[place], &g.groups[at]
	r.spends = r.spends || takes
	if of.runs == 1 && !known {
		of.each = min(cost, unitsMax)
	}
	if !takes || known || cost != of.each {
		of.each = 0
	}
}

func (g *group) append(runs []run, place int32) {
	if g.runs == 0 {
		g.first = place
	} else {
		runs[g.last].next = place
	}
	g.last = place
	g.runs++
}

// group returns the group of a limit in a space. A call has few of them.
func (g *grouping) group(limit engine.Limit, space string) int32 {
	for i, known := range slices.Backward(g.groups) {
		if known.limit == limit && g.kinds[known.kind].space == space {
			return int32(i)
		}
	}
	k := kindOfKeys(space, limit)
	at := 0
	for at < len(g.kinds) && g.kinds[at] != k {
		at++
	}
	if at == len(g.kinds) {
		g.kinds = append(g.kinds, k)
	}
	g.groups = append(g.groups, group{limit: limit, kind: int32(at), first: none, last: none})
	return int32(len(g.groups) - 1)
}

// arguments appends the script's keys and arguments to a text, and calls each
// with the end of every one.
func (g *grouping) arguments(b []byte, s *Store, ops []engine.Op, now int64, end func(b []byte, isKey bool)) []byte {
	for at := range g.groups {
		of := &g.groups[at]
		k := &g.kinds[of.kind]
		head := len(b)
		b = appendHead(b, s.prefix, k.space, k.algorithm.String(), &k.grid, k.name)
		headEnd := len(b)
		for r := of.first; r != none; r = g.runs[r].next {
			if r != of.first {
				b = append(b, b[head:headEnd]...)
			}
			b = s.shards.appendSubject(b, g.runs[r].key)
			end(b, true)
		}
	}
	for at := range g.groups {
		of := &g.groups[at]
		l := of.limit.Numbers()
		b = append(b, families[l.Algorithm].code())
		b = appendInt(b, 2, int64(of.runs))
		b = encodeCharge(b, l, of.each, now)
		end(b, false)
		for r := of.first; r != none && of.each == 0; r = g.runs[r].next {
			b = g.entries(b, ops, &g.runs[r])
			end(b, false)
		}
	}
	return b
}

// entries appends what is asked of one key: whether it may be spent from, and
// then the takes and gives, each a kind, a cost and how often.
func (g *grouping) entries(b []byte, ops []engine.Op, r *run) []byte {
	b = append(b, bit(r.spends))
	times, lastTaken := uint32(0), int64(0) // of the last entry, if it takes
	for i := r.first; i != none; i = g.next[i] {
		op := &ops[i]
		cost := min(op.Charges[0].Cost, unitsMax)
		if op.Kind == engine.OpPeek || cost == 0 {
			continue
		}
		if op.Kind == engine.OpAllow && cost == lastTaken {
			times++
			binary.BigEndian.PutUint32(b[len(b)-4:], times)
			continue
		}
		times, lastTaken = 1, cost
		if op.Kind == engine.OpGive {
			lastTaken = 0
		}
		b = append(b, byte(op.Kind))
		b = appendInt(b, 7, cost)
		b = appendInt(b, 4, 1)
	}
	return b
}
