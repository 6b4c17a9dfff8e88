package memstore

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/headgate/headgate/engine/algo"
)

// keyBytes is the number of bytes of lists that a key may have ([algo.State.Bytes]). More bytes count as more keys: a log
// with 100 entries, of 1600 bytes, counts as 7. So the bound on keys is one on memory.
const keyBytes = 256

// room divides the store among its namespaces. Half of it is divided equally among the namespaces that have been named
// ([Store.KeepRoom]): a namespace can always use its own part. The rest goes to whoever comes first. So a client that
// makes up keys under one policy cannot deny the new keys of another.
type room struct {
	most   int64        // keys of the store
	used   atomic.Int64 // keys of all namespaces, with what large states count
	own    atomic.Int64 // the part of each namespace
	common atomic.Int64 // keys beyond the parts of their namespaces
	shared atomic.Int64 // the most that common may be

	mu     sync.Mutex
	shares map[string]*share
	parts  int // into which half of the store is divided
}

// share counts the keys of a namespace.
type share struct {
	room *room
	keys atomic.Int64
	most int64 // 0 if only the room bounds it
}

// maxShares is the maximum number of namespaces with a part of their own. All further ones share the last one.
const maxShares = 1 << 16

func (r *room) start(most int64, maxKeysOf map[string]int) {
	r.most, r.shares = most, map[string]*share{}
	r.shared.Store(most)
	for space, n := range maxKeysOf {
		r.shares[space] = &share{room: r, most: int64(n)}
	}
}

// of returns the share of a namespace.
func (r *room) of(space string) *share {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.shares[space]; s != nil {
		return s
	}
	if len(r.shares) >= maxShares {
		space = ""
		if s := r.shares[space]; s != nil {
			return s
		}
	}
	s := &share{room: r}
	r.shares[space] = s
	r.divide()
	return s
}

// partsFor returns into how many parts half of the store is divided for n namespaces. Above 1024 it grows in steps of a
// sixteenth at most, so that a program that names a namespace for each of its users counts all keys anew only now and
// then: see divide.
func partsFor(n int) int {
	step := 1 << max(0, bits.Len(uint(n-1))-5)
	if n <= 1024 {
		step = 1
	}
	return (n + step - 1) / step * step
}

// divide sets the parts by the number of namespaces, and counts the keys beyond them. It does nothing while the number
// of parts is the same, because a new namespace has no keys.
func (r *room) divide() {
	parts := partsFor(len(r.shares))
	if parts == r.parts {
		return
	}
	r.parts = parts
	own := r.most / 2 / int64(parts)
	common := int64(0)
	for _, s := range r.shares {
		common += max(0, s.keys.Load()-own)
	}
	r.own.Store(own)
	r.common.Store(common)
	r.shared.Store(r.most - own*int64(parts))
}

// reserve reserves room for one more key of the namespace.
func (s *share) reserve() bool {
	if !s.add(1) {
		s.add(-1)
		return false
	}
	return true
}

// add counts n keys more, or fewer. It reports whether the namespace has room for them.
func (s *share) add(n int64) bool {
	r := s.room
	own, after := r.own.Load(), s.keys.Add(n)
	beyond := max(0, after-own) - max(0, after-n-own)
	mine := beyond == 0 || r.common.Add(beyond) <= r.shared.Load() || after <= own
	return r.used.Add(n) <= r.most && mine && (s.most == 0 || after <= s.most)
}

// full reports whether the namespace has no room left.
func (s *share) full() bool {
	n, r := s.keys.Load(), s.room
	return n >= r.own.Load() && r.common.Load() >= r.shared.Load() || s.most > 0 && n >= s.most || r.used.Load() >= r.most
}

// KeepRoom gives each of the namespaces a part of the store that the keys of other namespaces cannot take: half of
// [Config.MaxKeys], divided equally among all namespaces that were named here or have had a key. With a million keys and
// ten namespaces, it is 50 000 keys. A namespace that is named when the others have filled the store gets its part as
// their keys expire. It keeps its part until the store is closed.
func (s *Store) KeepRoom(spaces ...string) {
	for _, space := range spaces {
		s.room.of(space)
	}
}

// makeRoom drops expired keys of any shard. It returns false if there is none. The caller holds no lock.
func (s *Store) makeRoom(t algo.Instant) bool {
	for {
		h := s.soonestShard()
		if h == nil || h.soonest.Load() > t.Now {
			return false
		}
		h.mu.Lock()
		n := h.expire(&s.scopes, t, t.Now, mostSoon) // if it drops none, it has corrected the shard's order
		h.mu.Unlock()
		if s.expired.Add(n); n > 0 {
			return true
		}
	}
}

// soonestShard returns the shard with the lowest bound on its next expiry, or nil if the store is empty.
func (s *Store) soonestShard() (soonest *shard) {
	lowest := int64(never)
	for i := range s.shards {
		if bound := s.shards[i].soonest.Load(); bound < lowest {
			soonest, lowest = &s.shards[i], bound
		}
	}
	return soonest
}
