package fallback

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

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
	places []cell
	// locks are held while a share is lowered, so that other callers of the key wait.
	locks [64]sync.Mutex
}

// cell is the last known state of a key: its remaining units in the upper half of the word, which counters have begun
// with them, and the instant when all units of its limit are available again, in ticks since the store was created. A
// word of 0 means an empty cell.
type cell struct {
	sum  atomic.Uint64 // the key's hash, xor word
	word atomic.Uint64
}

// A counter begins with the remembered units once for each of the store's answers.
const (
	begunShare = 1 << 31 // the share of an outage
	begunHeld  = 1 << 30 // the counter that holds a key to its units after a loss
)

const (
	// tick is the unit of time in a cell, in µs: maxTicks are more than two years.
	tick     = 1 << 16
	maxTicks = 1<<30 - 1
)

func newMemory(keys int) *memory {
	return &memory{seed: maphash.MakeSeed(), places: make([]cell, keys)}
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

// keep stores a key's remaining units, and the instant when all units of its limit are available again, in µs since the
// store was created.
func (m *memory) keep(key uint64, p *cell, remaining, full int64) {
	ticks := min(max(0, full)/tick+1, maxTicks) // rounded up, and never 0
	p.set(key, packed(min(max(0, remaining), algo.MaxUnits))<<32|uint64(ticks))
}

func (p *cell) set(key, word uint64) {
	p.sum.Store(key ^ word)
	p.word.Store(word)
}

// look returns the stored state of a key.
func (m *memory) look(key uint64, p *cell) (remaining, full int64, known bool) {
	word := p.word.Load()
	if word == 0 || p.sum.Load()^word != key {
		return 0, 0, false
	}
	return unpacked(word >> 32), int64(word&maxTicks) * tick, true
}

// begin is look for a counter that begins with the units. It returns false if the counter has already begun with them.
func (m *memory) begin(key uint64, p *cell, counter uint64) (remaining, full int64, known bool) {
	remaining, full, known = m.look(key, p)
	word := p.word.Load()
	if !known || word&counter != 0 {
		return 0, 0, false
	}
	p.set(key, word|counter)
	return remaining, full, true
}

// drop removes the state of a key.
func (m *memory) drop(key uint64, p *cell) {
	if _, _, known := m.look(key, p); known {
		p.word.Store(0)
	}
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

// rememberAll stores what the store's answers say about the keys of operations.
func (s *Store) rememberAll(ops []engine.Op, results []engine.Answer) {
	for i := range results {
		switch op, r := &ops[i], &results[i]; {
		case r.Err != nil || r.Promise.Mode == engine.Fallback:
		case shows(op.Kind):
			s.remember(op, r)
		case op.Kind == engine.OpGive || op.Kind == engine.OpReset:
			s.forget(op)
		}
	}
}

// remember stores the remaining units of an operation's keys, as reported by the store, and until when it has denied a
// key's next unit.
func (s *Store) remember(op *engine.Op, o *engine.Answer) {
	if o.Len() == 1 && untouched(o.Binds()) {
		return
	}
	now := s.elapsed()
	for i := range op.Charges {
		standing := o.Of(i)
		if untouched(standing) {
			continue
		}
		key, p, _ := s.known.at(op, i, standing.Window)
		s.known.keep(key, p, standing.Remaining, now+standing.ResetAfter.Microseconds())
		if !o.Allowed && i == o.Binding && op.Charges[i].Cost == 1 && standing.RetryAfter != engine.Never {
			key, p, _ = s.denied.at(op, i, 0)
			s.denied.keep(key, p, 0, now+standing.RetryAfter.Microseconds())
		}
	}
}

// left returns the units that a key of a limit has now, if it is remembered and has not recovered. The given counter must
// begin with them. A bucket has refilled since the answer.
func (s *Store) left(hash uint64, p *cell, limit engine.Limit, counter uint64) (units int64, known bool) {
	units, full, known := s.known.begin(hash, p, counter)
	missing := full - s.elapsed()
	if !known || missing <= 0 {
		return 0, false
	}
	return max(units, limit.Numbers().LeastLeft(missing)), true
}

// deniedFor returns how long the store's own denial of a key of an operation still lasts.
func (s *Store) deniedFor(op *engine.Op) (left time.Duration) {
	for i := range op.Charges {
		key, p, _ := s.denied.at(op, i, 0)
		if _, until, known := s.denied.look(key, p); known && op.Charges[i].Cost > 0 {
			left = max(left, time.Duration(until-s.elapsed())*time.Microsecond)
		}
	}
	return left
}

// forget drops what is remembered of the keys of a give or a reset, and what outlives it: the counters that hold keys to
// their units after a loss.
func (s *Store) forget(op *engine.Op) {
	for i := range op.Charges {
		key, p, _ := s.denied.at(op, i, 0)
		s.denied.drop(key, p)
		for window := range engine.Shares(op.Charges[i].Limit, 1) {
			key, p, _ := s.known.at(op, i, window)
			s.known.drop(key, p)
		}
		if s.lost() != 0 {
			s.release(op, i)
		}
	}
}

// elapsed returns the time since the store was created, in µs.
func (s *Store) elapsed() int64 { return s.config.Memory.Clock().Sub(s.began).Microseconds() }
