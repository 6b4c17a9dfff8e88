package prefetch

import (
	"context"
	"time"

	"github.com/headgate/headgate/engine"
)

// farewell bounds the time for giving units back in Close.
const farewell = time.Second

// giveBack gives back units that have reached half their life. It looks for them every quarter of a life, until the
// store is closed.
func (s *Store) giveBack() {
	ticker := time.NewTicker(s.config.Life / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			ctx, cancel := context.WithTimeout(s.life, s.config.Life)
			now := time.Now()
			s.give(ctx, s.table.collect(func(_ id, r *record) bool { return !now.Before(r.hold.returns) }))
			cancel()
		case <-s.life.Done():
			return
		}
	}
}

// returnAll returns all held units.
func (s *Store) returnAll() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	s.give(ctx, s.table.collect(func(id, *record) bool { return true }))
}

// collect removes and returns the units of the records for which wanted returns true.
func (t *table) collect(wanted func(id, *record) bool) (gives []pendingGive) {
	for i := range t.shards {
		h := &t.shards[i]
		h.Lock()
		for name, r := range h.known {
			if r.hold.left() > 0 && wanted(name, r) {
				gives = append(gives, r.giveBack())
			}
		}
		h.Unlock()
	}
	return gives
}

// pendingGive describes units that are being returned to the store. Until they arrive, the process prefetches no other
// units of that key, so that it never holds two sets of prefetched units of one key.
type pendingGive struct {
	op     engine.Op
	record *record
}

// give returns units by their handle, so that no unit goes to a window that was not charged.
func (s *Store) give(ctx context.Context, gives []pendingGive) {
	for len(gives) > 0 {
		some := gives[:min(len(gives), engine.MaxOps)]
		ops, results := make([]engine.Op, len(some)), make([]engine.Answer, len(some))
		for i := range some {
			ops[i] = some[i].op
		}
		s.store.Do(ctx, ops, results)
		for i := range results {
			if units := ops[i].Charges[0].Cost; results[i].Err != nil {
				s.lost.Add(units)
			} else {
				s.returned.Add(units)
			}
			some[i].record.returned()
		}
		gives = gives[len(some):]
	}
}
