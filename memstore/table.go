package memstore

import "github.com/headgate/headgate/algo"

// slot is a state's place in a table. It has no pointer, so that the garbage
// collector passes by, and 48 bytes.
type slot struct {
	key   [inlineKey]byte
	state algo.Words // of a boxed state, the box's index
	class uint32
	// length is that of the key, or boxed.
	length uint8
}

// inlineKey is how long the keys are that have room in a slot.
const inlineKey = 24

// boxed is the length of a slot whose key or state has no room in it.
const boxed = 255

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
// more: 49 bytes a slot are then 55 to 63 a key.
const (
	fullTenths  = 9
	freshTenths = 7.8
	leastSlots  = 8
)

func mark(hash uint64) uint8 { return full | uint8(hash&0x7f) }

// home returns where the search for a hash begins.
func (t *table) home(hash uint64) int {
	return int((hash >> 32 * uint64(len(t.slots))) >> 32)
}

// crowded reports whether a table has no room for one more key.
func (t *table) crowded() bool { return (t.used+t.dead+1)*10 > len(t.slots)*fullTenths }

// sized returns how many slots a table of so many keys is given.
func sized(keys int) int { return max(leastSlots, int(float64(keys)/freshTenths*10)+1) }

// add takes a place for a hash. The table is not crowded.
func (t *table) add(hash uint64) int {
	i := t.home(hash)
	for t.marks[i] >= full {
		if i++; i == len(t.marks) {
			i = 0
		}
	}
	if t.marks[i] == dropped {
		t.dead--
	}
	t.marks[i] = mark(hash)
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
