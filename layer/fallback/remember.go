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

// id is what a count is kept under.
type id struct {
	space, key string
	limit      engine.Limit
}

func newMemory(keys int) *memory {
	return &memory{seed: maphash.MakeSeed(), places: make([]place, keys)}
}

// at returns a key's hash, its place, and the lock of the place.
func (m *memory) at(name id) (key uint64, p *place, lock *sync.Mutex) {
	key = maphash.Comparable(m.seed, name)
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
		space, key := op.Subject(i)
		hash, p, lock := s.known.at(id{space: space, key: key, limit: op.Charges[i].Limit})
		lock.Lock()
		p.key, p.remaining, p.full, p.heard = hash, standing.Remaining, now+standing.ResetAfter.Microseconds(), true
		lock.Unlock()
	}
}
