package memstore

import (
	"sync"
	"sync/atomic"

	"github.com/headgate/headgate/engine/algo"
)

// room divides the store among its namespaces. Half of it is divided equally among the namespaces that have been named
// ([Store.KeepRoom]): a namespace can always use its own part. The rest goes to whoever comes first. So a client that
// makes up keys under one policy cannot deny the new keys of another.
type room struct {
	most   int64        // keys of the store
	own    atomic.Int64 // the part of each namespace
	common atomic.Int64 // keys beyond the parts of their namespaces
	shared atomic.Int64 // the most that common may be
	// permits counts the keys whose room permits take (permits.go). They are in common and in the shares too.
	permits atomic.Int64

	mu     sync.Mutex
	shares map[string]*share
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

// divide sets the parts by the number of namespaces, and counts the keys beyond them.
func (r *room) divide() {
	own := r.most / 2 / int64(len(r.shares))
	common := int64(0)
	for _, s := range r.shares {
		common += max(0, s.keys.Load()-own)
	}
	r.own.Store(own)
	r.common.Store(common)
	r.shared.Store(r.most - own*int64(len(r.shares)))
}

// reserve reserves room for one more key of the namespace.
func (s *share) reserve() bool {
	n, r := s.keys.Add(1), s.room
	fits := s.most == 0 || n <= s.most
	if n > r.own.Load() && r.common.Add(1) > r.shared.Load() {
		fits = false
	}
	if !fits {
		s.release()
	}
	return fits
}

func (s *share) release() {
	if s.keys.Add(-1) >= s.room.own.Load() {
		s.room.common.Add(-1)
	}
}

// reserve reserves room for one more key.
func (s *Store) reserve(c *scope) bool {
	if !c.share.reserve() {
		return false
	}
	if s.keys.Add(1)+s.room.permits.Load() > s.room.most {
		s.keys.Add(-1)
		c.share.release()
		return false
	}
	return true
}

// KeepRoom gives each of the namespaces a part of the store that the keys of other namespaces cannot take: half of
// [Config.MaxKeys], divided equally among all namespaces that were named here or have had a key. With a million keys and
// ten namespaces, it is 50 000 keys. A namespace keeps its part until the store is closed.
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
		n := h.expire(&s.scopes, t, mostSoon) // if it drops none, it has corrected the shard's order
		h.mu.Unlock()
		if s.dropped(n); n > 0 {
			return true
		}
	}
}

func (s *Store) dropped(n int64) {
	if n > 0 {
		s.keys.Add(-n)
		s.expired.Add(n)
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
