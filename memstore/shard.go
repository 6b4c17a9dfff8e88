package memstore

import (
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/headgate/headgate/algo"
)

// id is what a state is called.
type id struct {
	space, key, name string
	algorithm        algo.Algorithm
}

// own returns the id with memory of its own: a caller's key may be a part of a
// buffer that he will reuse or that is much larger.
func (d id) own() id {
	return id{space: strings.Clone(d.space), key: strings.Clone(d.key), name: strings.Clone(d.name), algorithm: d.algorithm}
}

// entry is one state. It equals absence from expires on.
type entry struct {
	id      id
	state   algo.State
	expires int64
	// bound is at most expires, and what the shard's heap is ordered by: a key
	// in use moves its expiry with each call, and its place in the heap only
	// when it comes up.
	bound int64
	index int
}

// shard is a part of the keys under one lock.
type shard struct {
	mu      sync.Mutex
	entries map[id]*entry
	queue   queue
	// soonest is at most the first expiry in the shard, to be read without
	// the lock.
	soonest atomic.Int64
	_       [64]byte // shards are used by different cores: keep them apart
}

const never = math.MaxInt64

func (h *shard) start() {
	h.entries = map[id]*entry{}
	h.soonest.Store(never)
}

func (h *shard) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.entries)
	h.queue = nil
	h.soonest.Store(never)
}

// put stores a state that lasts until expires.
func (h *shard) put(e *entry, state algo.State, expires int64) {
	e.state, e.expires = state, expires
	if expires < e.bound {
		e.bound = expires
		h.queue.up(e.index)
		h.publish()
	}
}

func (h *shard) insert(name id, state algo.State, expires int64) {
	e := &entry{id: name.own(), state: state, expires: expires, bound: expires}
	h.entries[e.id] = e
	h.queue.push(e)
	h.publish()
}

func (h *shard) remove(e *entry) {
	delete(h.entries, e.id)
	h.queue.remove(e.index)
	h.publish()
}

func (h *shard) publish() {
	if len(h.queue) == 0 {
		h.soonest.Store(never)
		return
	}
	h.soonest.Store(h.queue[0].bound)
}

// first returns the entry that expires first, or nil, after setting right the
// places of those that moved on since.
func (h *shard) first() *entry {
	for len(h.queue) > 0 {
		e := h.queue[0]
		if e.bound == e.expires {
			return e
		}
		e.bound = e.expires
		h.queue.down(0)
		h.publish()
	}
	return nil
}

// expire drops up to budget entries that equal absence and returns how many.
// Looking at an entry that has moved on counts too: the call stays short.
func (h *shard) expire(now int64, budget int) (dropped int64) {
	for ; budget > 0 && len(h.queue) > 0 && h.queue[0].bound <= now; budget-- {
		if e := h.queue[0]; e.expires <= now {
			h.remove(e)
			dropped++
			continue
		}
		h.queue[0].bound = h.queue[0].expires
		h.queue.down(0)
		h.publish()
	}
	return dropped
}
