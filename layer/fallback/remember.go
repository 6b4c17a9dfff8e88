package fallback

import (
	"hash/maphash"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// memory stores the remaining units of recently used keys that have spent part of their limits. A key's hash determines
// its place. Another key with the same place can overwrite it.
//
// The memory has no lock while the store answers. Two concurrent writes to one place can mix. In that case the place
// contains a wrong sum, so it belongs to no key.
type memory struct {
	seed   maphash.Seed
	began  int64 // in µs since 1970
	places []cell
	// locks are held while a share is lowered, so that other callers of the key wait.
	locks [64]sync.Mutex
}

// cell is the last known state of a key: its remaining units, packed into the upper half of the word, and the instant
// when all units of its limit are available again, in ticks since the memory was created. A word of 0 means an empty
// cell.
type cell struct {
	sum  atomic.Uint64 // the key's hash, xor word
	word atomic.Uint64
}

// tick is the unit of time in a cell, in µs: 2^32 ticks are two years.
const tick = 1 << 14

func newMemory(keys int, now int64) *memory {
	return &memory{seed: maphash.MakeSeed(), began: now, places: make([]cell, keys)}
}

// at returns a hash that identifies the counter of one window of a charge, the cell for that hash, and the cell's
// lock.
func (m *memory) at(op *engine.Op, charge, window int) (key uint64, p *cell, lock *sync.Mutex) {
	space, subject := op.Counted(charge)
	limit := op.Charges[charge].Limit
	key = maphash.String(m.seed, subject) + 3*maphash.String(m.seed, space) + 5*maphash.String(m.seed, limit.Name()) + uint64(limit.Algorithm()) + 7*uint64(window)
	i := key % uint64(len(m.places))
	return key, &m.places[i], &m.locks[i%uint64(len(m.locks))]
}

// keep stores a key's remaining units, and the instant when all units of its limit are available again, in µs since
// 1970.
func (m *memory) keep(key uint64, p *cell, remaining, full int64) {
	ticks := min(max(0, full-m.began)/tick+1, math.MaxUint32) // rounded up, and never 0
	word := packed(min(max(0, remaining), algo.MaxUnits))<<32 | uint64(ticks)
	p.sum.Store(key ^ word)
	p.word.Store(word)
}

// take returns the stored state of a key, and removes it, because only one share may start with it.
func (m *memory) take(key uint64, p *cell) (remaining, full int64, known bool) {
	word := p.word.Load()
	if word == 0 || p.sum.Load()^word != key {
		return 0, 0, false
	}
	p.word.CompareAndSwap(word, 0)
	return unpacked(word >> 32), m.began + int64(word&math.MaxUint32)*tick, true
}

// packed encodes units in 32 bits: the highest 27 bits, and the number of bits cut off. A share therefore never
// starts with too many units. It starts with too few units by at most one part in 67 million.
func packed(units int64) uint64 {
	cut := max(0, bits.Len64(uint64(units))-27)
	return uint64(units)>>cut<<5 | uint64(cut)
}

func unpacked(units uint64) int64 { return int64(units >> 5 << (units & 31)) }

// A key that has spent at most 1/spared of its limit is not remembered. Most keys have spent less, and a decision on
// such a key needs neither the clock nor the memory. Its share starts with all of its units. An older entry for such a
// key stays, and is too low until the key's limit would have recovered.
const spared = 8

// untouched reports whether the key has spent so few units that it does not have to be remembered.
func untouched(s *engine.Standing) bool { return (s.Limit-s.Remaining)*spared <= s.Limit }

// remember stores the remaining units of an operation's keys, as reported by the store.
func (s *Store) remember(op *engine.Op, o *engine.Answer) {
	if o.Len() == 1 && untouched(o.Binds()) {
		return
	}
	now := s.now()
	for i := range op.Charges {
		standing := o.Of(i)
		if untouched(standing) {
			continue
		}
		key, p, _ := s.known.at(op, i, standing.Window)
		s.known.keep(key, p, standing.Remaining, now+standing.ResetAfter.Microseconds())
	}
}
