package memstore

import "github.com/headgate/headgate/engine/algo"

// slot is a state's place in a table: two in a cache line. It has no pointer, so
// that the garbage collector passes by.
type slot struct {
	// Most of the key's hash; its shard and its mark are the rest.
	hi uint64
	lo uint32

	scope uint32     // and boxed
	state algo.Words // of a boxed state, the box's index
}

// boxed is set in the scope of a slot whose state has no room in it. So many
// scopes would not fit in memory.
const boxed = 1 << 31

// table is open addressing with linear probing: a byte for each slot says
// whether it is empty, was dropped, or has a key, and seven bits of its hash. The
// bytes are looked at first: a decision on a key that is there touches one slot.
type table struct {
	marks []uint8
	slots []slot
	used  int // keys
	dead  int // dropped, in the way of empty
}

const (
	empty   = 0
	dropped = 1
	full    = 0x80 // and seven bits of the hash
)

// A table is made anew when it is filled to nine tenths, with room for some 15 %
// more: 33 bytes a slot are then 37 to 43 a key.
const (
	fullTenths  = 9
	freshTenths = 7.8
	leastSlots  = 8
)

// slot returns an empty slot of the hash.
func (h hash) slot() slot { return slot{hi: h.hi, lo: uint32(h.lo >> 32)} }

// crowded reports whether a table has no room for one more key.
func (t *table) crowded() bool { return (t.used+t.dead+1)*10 > len(t.slots)*fullTenths }

// sized returns how many slots a table of so many keys is given.
func sized(keys int) int { return max(leastSlots, int(float64(keys)/freshTenths*10)+1) }

// add takes a place. The table is not crowded.
func (t *table) add(hi uint64, mark uint8) int {
	i := t.home(hi)
	for t.marks[i] >= full {
		if i++; i == len(t.marks) {
			i = 0
		}
	}
	if t.marks[i] == dropped {
		t.dead--
	}
	t.marks[i] = mark
	t.used++
	return i
}

// drop empties a place. What lies before it and was dropped is empty again, if
// nothing follows.
func (t *table) drop(i int) {
	t.slots[i] = slot{}
	t.used--
	t.marks[i] = dropped
	t.dead++
	next := i + 1
	if next == len(t.marks) {
		next = 0
	}
	for t.marks[next] == empty && t.marks[i] == dropped {
		t.marks[i] = empty
		t.dead--
		next = i
		if i--; i < 0 {
			i = len(t.marks) - 1
		}
	}
}
