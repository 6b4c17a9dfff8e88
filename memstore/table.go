package memstore

import "github.com/headgate/headgate/engine/algo"

// slot is the place of a state in a table. Two slots fit into a cache line. A slot contains no pointer, so the garbage
// collector skips it.
type slot struct {
	// hi and lo contain most of the key's hash. The shard's index and the mark contain the rest.
	hi uint64
	lo uint32

	scope uint32     // the scope's number, and the bit boxed
	state algo.Words // the box's index if the state is boxed
}

// boxed is set in the scope of a slot whose state is in a box. No memory can hold so many scopes that a scope's
// number needs this bit.
const boxed = 1 << 31

// table uses open addressing with linear probing. Each slot has a mark: one byte that records whether the slot is
// empty, was dropped or contains a key, with seven bits of the key's hash. A search reads the marks first, so a
// decision on a known key touches one slot.
type table struct {
	marks []uint8
	slots []slot
	used  int // keys
	dead  int // dropped slots, where a search cannot stop
}

const (
	empty   = 0
	dropped = 1
	full    = 0x80 // plus seven bits of the hash
)

// A table that is nine tenths full is rebuilt with room for about 15 % more keys. A slot and its mark take 33 bytes,
// so a key takes 37 to 43 bytes. A table with fewer than smallKeys keys doubles instead, because otherwise each new
// key would cost several rebuilds (BenchmarkNewKeys: 1110 ns without doubling, 920 ns with it).
const (
	fullTenths  = 9
	freshTenths = 7.8
	leastSlots  = 8
	smallKeys   = 128
)

// slot returns a slot without a state for the hash.
func (h hash) slot() slot { return slot{hi: h.hi, lo: uint32(h.lo >> 32)} }

// crowded reports whether a table has no room for one more key.
func (t *table) crowded() bool { return (t.used+t.dead+1)*10 > len(t.slots)*fullTenths }

// sized returns the number of slots for a new table with the given number of keys, including room for more.
func sized(keys int) int {
	if keys < smallKeys {
		return max(leastSlots, 2*keys)
	}
	return int(float64(keys)/freshTenths*10) + 1
}

// add takes a slot for a key. The table must not be crowded.
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

// drop frees a slot. If an empty slot follows, this slot and the dropped slots before it become empty again.
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
