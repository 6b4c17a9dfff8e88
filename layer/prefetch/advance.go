package prefetch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/internal/forward"
)

// advance is one request that prefetches units in addition to its own.
type advance struct {
	record  *record
	limit   engine.Limit
	config  *Config
	members int
	sent    time.Time
	taken   *atomic.Int64
}

// op returns the operation that is sent to the store instead of the caller's own. It charges the caller's unit and a
// share of the remaining units.
func (a *advance) op(own *engine.Op) engine.Op {
	charge := own.Charges[0]
	charge.Cost = 1 + share(a.limit, a.config, a.members)
	op := *own
	op.Kind, op.Share, op.Charges = engine.OpAtMost, int64(2*a.members), []engine.Charge{charge}
	op.Ahead = ahead(a.limit, a.config.Life)
	return op
}

// share returns the number of units of a key that a process may hold. All processes together hold at most as many
// units of a token bucket as the bucket refills in a life. The reason is that, in any span, the units held at its
// start can pass in addition to the bucket's units (docs/design/speed.md).
func share(limit engine.Limit, c *Config, members int) int64 {
	units := c.MaxUnits
	if l := limit.Numbers(); l.Algorithm.Refills() {
		units = min(units, l.Refilled(c.Life.Microseconds())/int64(members))
	}
	return units
}

// ahead returns the time from the charge until the units count in a sliding log, in whole milliseconds. A log records
// prefetched units at the end of their life.
func ahead(limit engine.Limit, life time.Duration) time.Duration {
	if !limit.Algorithm().KeepsTimes() {
		return 0
	}
	return (life + time.Millisecond - 1).Truncate(time.Millisecond)
}

// finish stores the prefetched units. It leaves the answer to the caller's own request in r.
func (a *advance) finish(r *engine.Answer) {
	var held *hold
	if r.Err == nil && r.Allowed {
		held = newHold(&a.record.name, a.limit, r, a.sent, a.config.Life, a.members)
		a.taken.Add(held.took)
		r.Granted, r.Binds().Remaining = 1, r.Binds().Remaining+held.took
	}
	a.record.finish(held)
}

// forwardedOps contains the operations of a call that go to the store. advances lists those that prefetch units.
type forwardedOps struct {
	forward.Subset
	advances []advance
}

var forwardPool = sync.Pool{New: func() any { return new(forwardedOps) }}

func (r *forwardedOps) free() {
	r.Clear()
	clear(r.advances)
	r.advances = r.advances[:0]
	forwardPool.Put(r)
}

// many spends held units on the operations of one call, and forwards the others in one call. No operation waits for
// another caller.
func (s *Store) many(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	left := forwardPool.Get().(*forwardedOps)
	defer left.free()
	for i := range ops {
		if results[i].Err != nil {
			continue
		}
		var own advance
		if spends(&ops[i]) && ctx.Err() == nil && !s.closed.Load() {
			spent, ours, _ := s.spend(ctx, &ops[i], &results[i])
			if spent {
				continue
			}
			own = ours
		}
		left.Add(i)
		left.advances = append(left.advances, own)
		if own.record != nil {
			left.Replace(own.op(&ops[i]))
		}
	}
	if len(left.From) == 0 {
		return
	}
	s.asked.Add(int64(len(left.From)))
	left.Do(ctx, s.store.Do, ops, results)
	for n, i := range left.From {
		if own := &left.advances[n]; own.record != nil {
			own.finish(&results[i])
		}
	}
}
