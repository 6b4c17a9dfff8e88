package memstore

import (
	"context"

	"github.com/headgate/headgate/engine"
)

// With many keys, a decision spends most of its time waiting for cache lines: first the shard's, then a mark's, then
// a slot's. The later fetches cannot start before the lock is held. A call with many operations therefore starts to
// fetch the lines of all keys first, and then decides.

// aheadOps is the number of operations that are looked up before the first of them is decided. It is large enough for
// many lines to be fetched in parallel, and small enough for them to stay in the cache.
const aheadOps = 32

// doMany decides operations in order, and looks up the states of the next operations in advance.
func (s *Store) doMany(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	var found [aheadOps]prepared
	for len(ops) > 0 {
		n := min(len(ops), aheadOps)
		s.lookAhead(ops[:n], results, &found)
		now := s.clock.micros()
		for i := range n {
			r := &results[i]
			if r.Err == nil {
				r.Err = s.ready(ctx)
			}
			if r.Err == nil && !s.answer(&ops[i], r, &found[i], now) {
				s.decide(&ops[i], r)
			}
		}
		ops, results = ops[n:], results[n:]
	}
}

// lookAhead locates the operations' states and starts to fetch them.
func (s *Store) lookAhead(ops []engine.Op, results []engine.Answer, found *[aheadOps]prepared) {
	for i := range ops {
		f := &found[i]
		f.scope = nil
		if results[i].Err == nil && s.prepare(&ops[i], f) {
			s.prefetch(&s.shards[f.shard], f.hash)
		}
	}
}
