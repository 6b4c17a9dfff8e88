package redisstore

import (
	"slices"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// The script merge.lua decides allows, peeks and gives of token buckets, pacers and fixed windows, and counts of fixed
// windows. Exceptions are buckets with next_pays, and gives to a fixed window with the handle of a charge. All
// operations on one key in a call are merged: the script reads and writes the key once, and replies with the state that
// it found. The client then decides each operation on that state with the steps of package algo, in order (decode.go).
// Each operation gets the same answer as it would alone.

// merger merges the operations of one script call by key. It is reused.
type merger struct {
	limits   []mergedLimit
	keys     []mergedKey
	heads    []keyHead
	next     []int32 // the next operation on the same key, or none
	index    map[subject]int32
	deferred []int // operations for the next call
}

// mergedLimit is one limit in one namespace, with its keys.
type mergedLimit struct {
	limit       engine.Limit
	head        int32 // in merger.heads
	first, last int32 // its keys, linked by mergedKey.next
	count       int   // number of its keys
	// cost is set if the limit is plain ([mergedFamily.plain]): keys without entries have one operation, an allow of this
	// cost. After [merger.split] either all keys have entries, and cost is 0, or none has.
	cost int64
}

type mergedKey struct {
	subject     string
	limit       int32 // in merger.limits
	next        int32 // the next key of the same limit, or none
	first, last int32 // its operations, linked by merger.next
	charges     bool  // one of them may charge units
	entries     bool  // they are sent as a list
	// closed is set once an operation on this key was deferred. All later operations on the key are deferred too.
	closed bool
}

// keyHead identifies the beginning that the names of all keys of a limit share.
type keyHead struct {
	space   string
	counter engine.Counter
}

func headOf(space string, limit engine.Limit) keyHead {
	return keyHead{space: space, counter: limit.Counter()}
}

// subject identifies one key by its keyHead, given as an index, and by the rest of the key.
type subject struct {
	head int32
	key  string
}

// none ends a linked list.
const none = -1

func newMerger() *merger { return &merger{index: map[subject]int32{}} }

// clear removes the operations, and the strings of their callers.
func (m *merger) clear() {
	clear(m.index)
	clear(m.limits)
	clear(m.keys)
	clear(m.heads)
	m.limits, m.keys, m.heads, m.deferred = m.limits[:0], m.keys[:0], m.heads[:0], m.deferred[:0]
}

// mergeable reports whether merge.lua can decide an operation.
func mergeable(op *engine.Op) bool {
	if len(op.Charges) != 1 {
		return false
	}
	l := op.Charges[0].Limit.Numbers()
	if m := fragments[families[l.Algorithm]].merged; m == nil || !l.Fields.Within(m.fields) || !m.decides(op, l) {
		return false
	}
	switch op.Kind {
	case engine.OpAllow, engine.OpPeek, engine.OpGive, engine.OpCount:
		return true
	default:
		return false
	}
}

// mergesBucket returns false for a bucket whose depth the scripts cap, because the steps in Go do not cap it.
func mergesBucket(_ *engine.Op, l *algo.Limit) bool {
	whole, _ := l.Depth()
	return whole < maxUnits
}

func mergesFixed(op *engine.Op, _ *algo.Limit) bool {
	return op.Kind != engine.OpGive || op.Handle.IsZero()
}

func readBucket(r *reader, l *algo.Limit) algo.State {
	at, missing, count, period := r.integer(7)<<8>>8, r.integer(7), r.integer(6), r.integer(7)
	if count == 0 || period == 0 {
		r.bad = true
	}
	return algo.StoredBucket(l.Algorithm, at, 0, missing, count, period, algo.Slots{})
}

// readLong reads the state of a bucket whose missing amount does not fit in one number.
func readLong(r *reader, l *algo.Limit) algo.State { return r.bucket(l, false) }

// readReserved reads the state of a bucket for which callers wait for reserved slots.
func readReserved(r *reader, l *algo.Limit) algo.State { return r.bucket(l, true) }

func (r *reader) bucket(l *algo.Limit, reserved bool) algo.State {
	at, whole, part, count, period := r.integer(8), r.integer(7), r.integer(7), r.integer(6), r.integer(7)
	slots := algo.Slots{}
	if reserved {
		slots.Promised, slots.Next.Count, slots.Next.Period = r.integer(7), r.integer(6), r.integer(7)
		r.bad = r.bad || slots.Next.Count == 0 || slots.Next.Period == 0
	}
	if count == 0 || period == 0 {
		r.bad = true
	}
	return algo.StoredBucket(l.Algorithm, at, whole, part, count, period, slots)
}

func readFixed(r *reader, _ *algo.Limit) algo.State {
	count, end := r.integer(6), r.integer(8)
	return algo.StoredFixed(count, end)
}

// merge regroups the operations that have no answer yet.
func (c *scriptCall) merge(ops []engine.Op) {
	if c.template != merged {
		return
	}
	if c.stale {
		c.merger.clear()
		for _, i := range c.ops {
			c.merger.add(ops, i)
		}
		c.stale = false
	}
	c.merger.split()
}

// script returns the template and the family of the call's script. A merged call with a single allow on a plain limit
// uses alone.lua, unless the cost is 0. In nearly all cases alone.lua decides the allow without the rest of merge.lua.
func (c *scriptCall) script() (template, family) {
	if c.template != merged || len(c.ops) != 1 || c.merger.limits[0].cost == 0 {
		return c.template, c.family
	}
	// Operations of other families in the call may already have been answered.
	return alone, families[c.merger.limits[0].limit.Algorithm()]
}

// has reports whether the call contains an operation's key.
func (m *merger) has(op *engine.Op) bool {
	space, key := op.Subject(0)
	head := slices.Index(m.heads, headOf(space, op.Charges[0].Limit))
	if head < 0 {
		return false
	}
	_, found := m.index[subject{head: int32(head), key: key}]
	return found
}

// add merges an operation with the others on its key. It defers the operation if another limit was the first on that
// key, or if an earlier operation on the key was deferred.
func (m *merger) add(ops []engine.Op, i int) {
	if len(m.next) < len(ops) {
		m.next = append(m.next, make([]int32, len(ops)-len(m.next))...)
	}
	op := &ops[i]
	space, key := op.Subject(0)
	limit := m.addLimit(op.Charges[0].Limit, space)
	s := subject{head: m.limits[limit].head, key: key}
	at, known := m.index[s]
	switch {
	case !known:
		at = int32(len(m.keys))
		m.index[s] = at
		m.keys = append(m.keys, mergedKey{subject: key, limit: limit, next: none, first: int32(i), last: int32(i)})
		m.limits[limit].append(m.keys, at)
	case m.keys[at].limit != limit || m.keys[at].closed:
		m.keys[at].closed = true
		m.deferred = append(m.deferred, i)
		if m.limits[limit].count == 0 {
			m.limits = m.limits[:limit] // the limit was added for this operation
		}
		return
	default:
		m.next[m.keys[at].last] = int32(i)
		m.keys[at].last = int32(i)
	}
	m.next[i] = none
	cost := op.Charges[0].Cost
	charges := op.Kind == engine.OpAllow && cost > 0
	k, l := &m.keys[at], &m.limits[limit]
	k.charges = k.charges || charges
	if numbers := l.limit.Numbers(); charges && l.cost == 0 && fragments[families[numbers.Algorithm]].merged.decidesPlain(numbers) {
		l.cost = min(cost, maxUnits)
	}
	k.entries = k.entries || known || !charges || cost != l.cost
}

// split moves the keys with entries to a limit of their own, so that the other keys are decided the short way beside a
// hot one.
func (m *merger) split() {
	for i := range m.limits {
		l := m.limits[i]
		if l.cost == 0 {
			continue
		}
		rest := mergedLimit{limit: l.limit, head: l.head, first: none, last: none}
		plain := rest
		plain.cost = l.cost
		for at := l.first; at != none; {
			k := &m.keys[at]
			next := k.next
			if k.next = none; k.entries {
				rest.append(m.keys, at)
			} else {
				plain.append(m.keys, at)
			}
			at = next
		}
		if m.limits[i] = plain; plain.count == 0 {
			m.limits[i] = rest
		} else if rest.count > 0 {
			m.limits = append(m.limits, rest)
		}
	}
}

func (l *mergedLimit) append(keys []mergedKey, at int32) {
	if l.count == 0 {
		l.first = at
	} else {
		keys[l.last].next = at
	}
	l.last = at
	l.count++
}

// addLimit returns the index of a limit in a namespace. It searches a list,
// because a call has few limits.
func (m *merger) addLimit(limit engine.Limit, space string) int32 {
	for i, known := range slices.Backward(m.limits) {
		if known.limit == limit && m.heads[known.head].space == space {
			return int32(i)
		}
	}
	h := headOf(space, limit)
	head := slices.Index(m.heads, h)
	if head < 0 {
		head = len(m.heads)
		m.heads = append(m.heads, h)
	}
	m.limits = append(m.limits, mergedLimit{limit: limit, head: int32(head), first: none, last: none})
	return int32(len(m.limits) - 1)
}
