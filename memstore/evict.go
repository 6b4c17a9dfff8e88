package memstore

import "github.com/headgate/headgate/engine/algo"

// reserve reserves room for n more keys. If there is not enough room, it reserves none and returns false.
func (s *Store) reserve(n int64) bool {
	if s.keys.Add(n) <= s.maxKeys {
		return true
	}
	s.keys.Add(-n)
	return false
}

// makeRoom drops at least one key from any shard: an expired key or, if the store evicts and expiredOnly is false, the
// key that would expire first. It returns false if no key may be dropped. The caller holds no lock.
func (s *Store) makeRoom(t algo.Instant, expiredOnly bool) bool {
	for {
		i, others := s.soonestShard()
		if i < 0 {
			return false
		}
		h := &s.shards[i]
		if h.soonest.Load() > t.Now && (s.whenFull == Refuse || expiredOnly) {
			return false
		}
		if s.freeFirst(h, t, others, expiredOnly) {
			return true
		}
	}
}

// freeFirst drops the expired keys of a shard. If no key has expired and expiredOnly is false, it evicts the state
// that expires first, provided that no other shard can have a state that expires earlier. It returns false if it
// dropped nothing and only corrected the shard's order.
func (s *Store) freeFirst(h *shard, t algo.Instant, others int64, expiredOnly bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := h.expire(&s.scopes, t, mostSoon); n > 0 {
		s.dropped(n)
		return true
	}
	place, at, n := h.next(&s.scopes, t)
	s.dropped(n)
	if n > 0 {
		return true
	}
	if place == nowhere || s.whenFull == Refuse || expiredOnly || at > others {
		return false
	}
	h.remove(&s.scopes, place)
	h.publish()
	s.keys.Add(-1)
	s.evicted.Add(1)
	return true
}

func (s *Store) dropped(n int64) {
	if n > 0 {
		s.keys.Add(-n)
		s.expired.Add(n)
	}
}

// soonestShard returns the index of the shard with the lowest bound on its next expiry, and the lowest bound of all
// other shards. The index is −1 if the store is empty.
func (s *Store) soonestShard() (index int, others int64) {
	index, others = -1, never
	lowest := int64(never)
	for i := range s.shards {
		bound := s.shards[i].soonest.Load()
		if bound < lowest {
			index, others, lowest = i, lowest, bound
		} else {
			others = min(others, bound)
		}
	}
	return index, others
}
