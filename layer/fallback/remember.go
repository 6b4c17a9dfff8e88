package fallback

import (
	"hash/maphash"
	"sync"

	"github.com/headgate/headgate/engine"
)

// memory keeps what keys have left, for the last keys that were asked for. Each key has
// one place, by its hash; another key takes it over.
type memory struct {
	seed   maphash.Seed
	places []place
	locks  [64]sync.Mutex
}

// place is what was last heard of a key.
type place struct {
	key       uint64
	remaining int64
	full      int64 // when the limit is as if untouched, in µs since 1970
	heard     bool  // and no share has begun with it yet
}

func newMemory(keys int) *memory {
	return &memory{seed: maphash.MakeSeed(), places: make([]place, keys)}
}

// at returns the hash of what a charge is counted under, its place, and the lock of the
// place.
func (m *memory) at(op *engine.Op, charge int) (key uint64, p *place, lock *sync.Mutex) {
	space, subject := op.Subject(charge)
	limit := op.Charges[charge].Limit
	key = maphash.String(m.seed, subject) + 3*maphash.String(m.seed, space) + 5*maphash.String(m.seed, limit.Name()) + uint64(limit.Algorithm())
	i := key % uint64(len(m.places))
	return key, &m.places[i], &m.locks[i%uint64(len(m.locks))]
}

// remember keeps what an answer of the store says about the keys of an operation.
func (s *Store) remember(op *engine.Op, o *engine.Outcome, now int64) {
	for i := range op.Charges {
		standing := &o.Standing
		if o.Limits != nil {
			standing = &o.Limits[i].Standing
		}
		hash, p, lock := s.known.at(op, i)
		lock.Lock()
		p.key, p.remaining, p.full, p.heard = hash, standing.Remaining, now+standing.ResetAfter.Microseconds(), true
		lock.Unlock()
	}
}
