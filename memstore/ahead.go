package memstore

import (
	"context"
	"sync/atomic"
	"unsafe"

	"github.com/headgate/headgate/engine"
)

// With many keys, a decision spends most of its time waiting for cache lines: first the shard's, then a mark's, then
// a slot's. The later fetches cannot start before the lock is held. A call with many operations therefore starts to
// fetch the lines of all keys first, and then decides.

// aheadOps is the number of operations that are looked up before the first of them is decided. It is large enough for
// many lines to be fetched in parallel, and small enough for them to stay in the cache.
const aheadOps = 32

// doMany decides operations in order, and looks up the states of the next operations in advance.
func (s *Store) doMany(ctx context.Context, ops []engine.Op, results []engine.Result) {
	var found [aheadOps]located
	for len(ops) > 0 {
		n := min(len(ops), aheadOps)
		s.lookAhead(ops[:n], results, &found)
		now := s.clock.micros()
		for i := range n {
			r := &results[i]
			if r.Err == nil {
				r.Err = s.ready(ctx)
			}
			if r.Err == nil && !s.simple(&ops[i], r, &found[i], now) {
				s.decide(&ops[i], r)
			}
		}
		ops, results = ops[n:], results[n:]
	}
}

// lookAhead locates the operations' states and starts to fetch them.
func (s *Store) lookAhead(ops []engine.Op, results []engine.Result, found *[aheadOps]located) {
	for i := range ops {
		f := &found[i]
		f.scope = nil
		if results[i].Err == nil && s.locate(&ops[i], f) {
			s.prefetch(&s.shards[f.shard], f.hash)
		}
	}
}

// lines publishes the location of a shard's table to readers that do not hold the shard's lock.
type lines struct{ table atomic.Pointer[table] }

// prefetch starts to fetch the lines for a hash: the line with the shard's lock, and the lines where the search begins.
// It fetches nothing if the shard has a hot key, because denials without the lock read none of these lines. If the
// table has just been replaced, the fetch is wasted.
func (s *Store) prefetch(h *shard, key hash) {
	if h.hot.scope.Load() != nil {
		return
	}
	prefetchWrite(unsafe.Pointer(h))
	if t := s.lines[s.shard(key)].table.Load(); t != nil {
		i := t.home(key.hi)
		prefetchSlot(unsafe.Pointer(&t.marks[i]), unsafe.Pointer(&t.slots[i]))
	}
}

// publishTable publishes the location of the shard's table.
func (s *Store) publishTable(h *shard) {
	s.lines[h.index].table.Store(&table{marks: h.table.marks, slots: h.table.slots})
}
