package memstore

import (
	"hash/maphash"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/headgate/headgate/algo"
)

// shard is a part of the keys under one lock.
type shard struct {
	// What most decisions need is together, 64 bytes.
	mu sync.Mutex
	// last is the latest instant at which something was decided here: the clock
	// is read before the lock is taken, and must not be seen to go back.
	last  int64
	table table

	boxes []box
	spare []int32 // boxes that are free
	soon  soon
	// soonest is at most the first expiry in the shard, to be read without
	// the lock.
	soonest atomic.Int64
	_       [24]byte // shards are used by different cores: whole cache lines
}

const never = math.MaxInt64

// box is what has no room in a slot: a long key, or a state of more than two
// words.
type box struct {
	key     string
	state   algo.State
	expires int64
}

// nowhere is the place of a state that is absent.
const nowhere = -1

func (h *shard) start() { h.soonest.Store(never) }

// clear drops everything.
func (h *shard) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.table, h.boxes, h.spare = table{}, nil, nil
	h.soon.reset(never)
	h.publish()
}

// find returns the place of a key's state under the class's name, or nowhere.
func (h *shard) find(cs *classes, hash uint64, key string, c *class) int {
	t := &h.table
	if len(t.slots) == 0 {
		return nowhere
	}
	wanted := mark(hash)
	for i := t.home(hash); ; {
		switch t.marks[i] {
		case wanted:
			s := &t.slots[i]
			if (s.class == c.id || cs.get(s.class).called == c.called) && h.has(s, key) {
				return i
			}
		case empty:
			return nowhere
		}
		if i++; i == len(t.marks) {
			i = 0
		}
	}
}

// has reports whether a slot has the key.
func (h *shard) has(s *slot, key string) bool {
	if s.length == boxed {
		return h.boxes[s.state[0]].key == key
	}
	return string(s.key[:s.length]) == key
}

// hash returns that of a slot's key.
func (h *shard) hash(seed maphash.Seed, s *slot) uint64 {
	if s.length == boxed {
		return maphash.String(seed, h.boxes[s.state[0]].key)
	}
	return maphash.Bytes(seed, s.key[:s.length])
}

// load returns the state at a place.
func (h *shard) load(cs *classes, i int) algo.State {
	s := &h.table.slots[i]
	if s.length == boxed {
		return h.boxes[s.state[0]].state
	}
	return s.state.State(cs.get(s.class).limit.Numbers())
}

// expires returns the instant from which the state at a place equals absence.
func (h *shard) expires(cs *classes, i int, t algo.Instant) int64 {
	s := &h.table.slots[i]
	if s.length == boxed {
		return h.boxes[s.state[0]].expires
	}
	return s.state.Expires(cs.get(s.class).limit.Numbers(), t)
}

// put stores a state at the place of an earlier one.
func (h *shard) put(cs *classes, i int, c *class, state *algo.State, expires int64) {
	s := &h.table.slots[i]
	if s.class != c.id {
		cs.get(s.class).states.Add(-1)
		s.class = cs.enter(c).id
	}
	h.write(s, state, expires)
	h.note(i, expires)
}

// write puts a state into its slot, or its box.
func (h *shard) write(s *slot, state *algo.State, expires int64) {
	words, ok := state.Words()
	switch {
	case s.length != boxed && ok:
		s.state = words
	case s.length == boxed:
		b := &h.boxes[s.state[0]]
		b.state, b.expires = *state, expires
	default:
		s.state[0] = h.box(box{key: string(s.key[:s.length]), state: *state, expires: expires})
		s.length = boxed
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

// insert stores the state of a key that has none.
func (h *shard) insert(s *Store, hash uint64, key string, c *class, state *algo.State, t algo.Instant, expires int64) {
	if h.table.crowded() {
		h.renew(s, t)
	}
	i := h.table.add(hash)
	at := &h.table.slots[i]
	*at = slot{class: s.classes.enter(c).id}
	if len(key) <= inlineKey {
		at.length = uint8(copy(at.key[:], key))
		h.write(at, state, expires)
	} else {
		at.length = boxed
		at.state[0] = h.box(box{key: strings.Clone(key), state: *state, expires: expires})
	}
	h.note(i, expires)
}

// remove drops the state at a place.
func (h *shard) remove(cs *classes, i int) {
	s := &h.table.slots[i]
	cs.get(s.class).states.Add(-1)
	if s.length == boxed {
		h.spare = append(h.spare, int32(s.state[0]))
		h.boxes[s.state[0]] = box{}
	}
	h.table.drop(i)
}

// renew drops what has expired and, if that makes no room, makes a larger table.
// It takes as long as the shard is large: some 20 µs for 1000 keys.
func (h *shard) renew(s *Store, t algo.Instant) {
	s.dropped(h.scan(&s.classes, t))
	old := h.table
	n := sized(old.used + 1)
	h.table = table{marks: make([]uint8, n), slots: make([]slot, n)}
	for i, m := range old.marks {
		if m >= full {
			hash := h.hash(s.seed, &old.slots[i])
			h.table.slots[h.table.add(hash)] = old.slots[i]
		}
	}
	h.soon.reset(h.soon.first())
	h.publish()
}
