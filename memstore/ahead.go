package memstore

import (
	"context"
	"sync/atomic"
	"unsafe"

	"github.com/headgate/headgate/engine"
)

// A decision on one of many keys mostly waits for cache lines: that of the shard, then a
// mark, then a slot. A lock does not let a later fetch begin before it is taken. So a
// call with many operations first finds the lines of all keys and begins to fetch them,
// and then decides.

// aheadOps is how many operations are looked up before the first of them is decided:
// enough lines to fetch at the same time, and few enough to stay in the cache.
const aheadOps = 32

// doMany decides operations in order, and looks up some ahead.
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

// lookAhead finds the operations' places and begins to fetch them.
func (s *Store) lookAhead(ops []engine.Op, results []engine.Result, found *[aheadOps]located) {
	for i := range ops {
		f := &found[i]
		f.scope = nil
		if results[i].Err == nil && s.locate(&ops[i], f) {
			s.prefetch(&s.shards[f.shard], f.hash)
		}
	}
}

// lines is where a shard's table is, for readers without the shard's lock.
type lines struct{ table atomic.Pointer[table] }

// prefetch begins to fetch the lines of a hash: that of the shard's lock, and those where
// the search begins. Denials that take no lock need none of them. If the table has just
// been replaced, lines are fetched in vain.
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

// publishTable shows where the shard's table is.
func (s *Store) publishTable(h *shard) {
	s.lines[h.index].table.Store(&table{marks: h.table.marks, slots: h.table.slots})
}
