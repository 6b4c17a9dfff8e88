package memstore

// reserve claims room for n more keys.
func (s *Store) reserve(n int64) bool {
	if s.keys.Add(n) <= s.maxKeys {
		return true
	}
	s.keys.Add(-n)
	return false
}

// dropBatch is how many expired keys one search for room drops at most in a
// shard: enough that searches stay rare, few enough to hold a lock shortly.
const dropBatch = 64

// makeRoom frees at least one key, anywhere in the store: an expired one first,
// then, if the store evicts, the one nearest to untouched. It reports false
// where nothing may be freed. No lock is held when it is called.
func (s *Store) makeRoom(now int64) bool {
	for {
		i, others := s.soonestShard()
		if i < 0 {
			return false
		}
		h := &s.shards[i]
		if h.soonest.Load() > now && s.whenFull == Refuse {
			return false
		}
		if s.freeFirst(h, now, others) {
			return true
		}
	}
}

// freeFirst drops the first entries of a shard if they are expired, or evicts
// the very first if no other shard can have one that is nearer to untouched. It
// reports false where the shard's order was only set right.
func (s *Store) freeFirst(h *shard, now, others int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.first()
	switch {
	case e == nil:
		return false
	case e.expires <= now:
		s.dropped(h.expire(now, dropBatch))
		return true
	case s.whenFull == Evict && e.expires <= others:
		h.remove(e)
		s.keys.Add(-1)
		s.evicted.Add(1)
		return true
	default:
		return false
	}
}

func (s *Store) dropped(n int64) {
	if n > 0 {
		s.keys.Add(-n)
		s.expired.Add(n)
	}
}

// soonestShard returns the shard with the lowest bound, and the lowest bound
// among the others; −1 where the store is empty.
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
