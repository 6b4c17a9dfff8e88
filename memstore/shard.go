package memstore

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/headgate/headgate/engine/algo"
)

// shard contains some of the keys, under one lock.
type shard struct {
	// The fields that most decisions need are in the first 64 bytes.
	mu sync.Mutex
	// last is the latest instant of a decision in this shard. The fast path reads the clock before it takes the lock,
	// so last keeps time from going back.
	last  int64
	table table

	boxes    []box
	spare    []int32 // free boxes
	expiring expiring
	// soonest is a lower bound on the first expiry in the shard. It is read without the lock.
	soonest atomic.Int64
	index   int      // in the store
	_       [16]byte // padding to whole cache lines, because different cores use different shards

	hot hot // one more cache line, which is rarely written
	_   [8]byte
}

const never = math.MaxInt64

// box is a state of more than two words, which does not fit into a slot.
type box struct {
	state   algo.State
	expires int64
}

// large reports whether the state at an index counts as several keys.
func (h *shard) large(i int) bool {
	s := &h.table.slots[i]
	return s.boxed() && s.more() > 0
}

// nowhere is the index of a key without a state.
const nowhere = -1

func (h *shard) start(index int) {
	h.index = index
	h.soonest.Store(never)
}

// clear drops all states.
func (h *shard) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.table, h.boxes, h.spare = table{}, nil, nil
	h.expiring.reset(never)
	h.hot.scope.Store(nil)
	h.publish()
}

func (h *shard) load(cs *scopes, i int) algo.State {
	s := &h.table.slots[i]
	if s.boxed() {
		return h.boxes[s.state[0]].state
	}
	return s.state.State(cs.get(s.number()).limit.Numbers())
}

// expires returns the instant from which the state at an index no longer matters.
func (h *shard) expires(cs *scopes, i int, t algo.Instant) int64 {
	s := &h.table.slots[i]
	if s.boxed() {
		return h.boxes[s.state[0]].expires
	}
	return s.state.Expires(cs.get(s.number()).limit.Numbers(), t)
}

// put replaces the state at an index. The two-word form of a state does not include the rate, so the state must be
// in a scope with the same rate. If the state's rate differs from the given scope's, as after a give, the state
// stays in its old scope.
func (h *shard) put(cs *scopes, i int, c *scope, state *algo.State, expires int64) {
	s := &h.table.slots[i]
	if s.number() != c.id && state.Under(c.limit.Numbers()) {
		cs.get(s.number()).states.Add(-1)
		s.scope = s.scope&boxed | cs.enter(c).id
	}
	h.write(cs, s, state, expires)
	h.note(i, expires)
}

// write stores a state in its slot or its box, and counts what it has become larger.
func (h *shard) write(cs *scopes, s *slot, state *algo.State, expires int64) {
	words, ok := state.Words()
	switch {
	case s.boxed():
		h.boxes[s.state[0]] = box{state: *state, expires: expires}
		cs.count(s, state)
	case ok:
		s.state = words
	default:
		s.state = algo.Words{h.box(box{state: *state, expires: expires})}
		s.scope |= boxed
		cs.count(s, state)
	}
}

// more returns the number of keys that a state in a box counts as, beyond the first.
func (s *slot) more() int64 { return int64(s.state[1]) }

// count counts a state in a box as the keys that it has become.
func (cs *scopes) count(s *slot, state *algo.State) {
	if n := int64(state.Bytes()/keyBytes) - s.more(); n != 0 {
		s.state[1] += uint64(n)
		cs.get(s.number()).share.add(n)
	}
}

func (h *shard) box(b box) (index uint64) {
	if n := len(h.spare); n > 0 {
		i := h.spare[n-1]
		h.spare = h.spare[:n-1]
		h.boxes[i] = b
		return uint64(i)
	}
	h.boxes = append(h.boxes, b)
	return uint64(len(h.boxes) - 1)
}

// insert stores the first state of a key. The caller has reserved room in the store and in the scope's share.
func (h *shard) insert(s *Store, key hash, c *scope, state *algo.State, t algo.Instant, expires int64) {
	if h.table.crowded() {
		h.renew(s, t)
	}
	i := h.enter(s, key, c)
	h.write(&s.scopes, &h.table.slots[i], state, expires)
	h.note(i, expires)
}

// enter takes a slot for a key in a table that is not crowded.
func (h *shard) enter(s *Store, key hash, c *scope) (i int) {
	i = h.table.add(key.hi, key.mark())
	h.table.slots[i] = key.slot()
	h.table.slots[i].scope = s.scopes.enter(c).id
	return i
}

// remove drops the state at an index.
func (h *shard) remove(cs *scopes, i int) {
	s := &h.table.slots[i]
	c := cs.get(s.number())
	c.share.add(-1)
	c.states.Add(-1)
	if s.boxed() {
		cs.count(s, &algo.State{})
		h.spare = append(h.spare, int32(s.state[0]))
		h.boxes[s.state[0]] = box{}
	}
	h.table.drop(i)
}

// renew drops expired states and builds a new table, with room for the remaining keys and more. It takes time in
// proportion to the shard's size: about 20 µs for 1000 keys.
func (h *shard) renew(s *Store, t algo.Instant) {
	s.expired.Add(h.scan(&s.scopes, t, s.outdated(t.Now)))
	old := h.table
	n := sized(old.used + 1)
	h.table = table{marks: make([]uint8, n), slots: make([]slot, n)}
	for i, m := range old.marks {
		if m >= full {
			h.table.slots[h.table.add(old.slots[i].hi, m)] = old.slots[i]
		}
	}
	h.expiring.reset(h.expiring.first())
	h.publish()
	s.publishTable(h)
}
