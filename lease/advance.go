package lease

import (
	"context"
	"sync"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/algo"
)

// advance is one caller's taking of units beside his own.
type advance struct {
	record  *record
	limit   headgate.Limit
	config  *Config
	members int
	sent    time.Time
}

// op is what is asked instead of the caller's own operation: his unit, and a
// part of what is left besides.
func (a *advance) op(own *headgate.Op) headgate.Op {
	charge := own.Charges[0]
	charge.Cost = 1 + a.config.MaxUnits
	op := *own
	op.Kind, op.Share, op.Charges = headgate.OpAtMost, int64(2*a.members), []headgate.Charge{charge}
	op.Ahead = ahead(a.limit, a.config.Life)
	return op
}

// ahead is how long after they were taken a log's units are entered: when they
// die, in whole milliseconds.
func ahead(limit headgate.Limit, life time.Duration) time.Duration {
	if limit.Algorithm() != algo.SlidingLog {
		return 0
	}
	return (life + time.Millisecond - 1).Truncate(time.Millisecond)
}

// finish keeps what came, and leaves the caller the answer to his own.
func (a *advance) finish(r *headgate.Result) {
	held := hold{}
	if d := &r.Decision; r.Err == nil && d.Allowed {
		held = newHold(a.limit, *d, a.sent, a.config.Life, a.members)
		d.Granted, d.Remaining = 1, d.Remaining+held.units
	}
	a.record.finish(held)
}

// rest is the operations of a call that have to be asked.
type rest struct {
	ops      []headgate.Op
	results  []headgate.Result
	from     []int // places in the caller's call
	advances []advance
}

var rests = sync.Pool{New: func() any { return new(rest) }}

func (r *rest) free() {
	clear(r.ops)
	clear(r.results)
	clear(r.advances)
	r.ops, r.results, r.from, r.advances = r.ops[:0], r.results[:0], r.from[:0], r.advances[:0]
	rests.Put(r)
}

// many spends what is held for the operations of one call, and asks for the
// others in one call. None waits for another caller.
func (s *Store) many(ctx context.Context, ops []headgate.Op, results []headgate.Result) {
	left := rests.Get().(*rest)
	defer left.free()
	for i := range ops {
		if results[i].Err != nil {
			continue
		}
		op, own := ops[i], advance{}
		if s.leases(&op) && ctx.Err() == nil && !s.closed.Load() {
			spent, ours, _ := s.spend(&op, &results[i])
			if spent {
				continue
			}
			own = ours
		}
		if own.record != nil {
			op = own.op(&op)
		}
		left.ops, left.results = append(left.ops, op), append(left.results, results[i])
		left.from, left.advances = append(left.from, i), append(left.advances, own)
	}
	if len(left.ops) == 0 {
		return
	}
	s.ask(ctx, left.ops, left.results)
	for n, i := range left.from {
		results[i] = left.results[n]
		if own := &left.advances[n]; own.record != nil {
			own.finish(&results[i])
		}
	}
}
