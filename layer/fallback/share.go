package fallback

import (
	"context"
	"fmt"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// probed is the limit that tests of the store ask for.
var probed = engine.Build(algo.FixedWindow, []engine.Rate{engine.Per(1, time.Second)})

// again is the wait of a cost that is larger than a share, but not than the limit: the
// store may be back by then.
const again = time.Second

// share answers an operation by this process's share of its limits.
func (s *Store) share(op *engine.Op, r *engine.Result) {
	n := int64(s.processes.count())
	if n == 0 {
		r.Err = fmt.Errorf("%w; it is not known how many processes share the limits (expect)", r.Err)
		return
	}
	own := *op
	own.Charges = make([]engine.Charge, len(op.Charges))
	bound := int64(0)
	for i, c := range op.Charges {
		bound = max(bound, beyond(c.Limit, n))
		c.Limit = engine.Share(c.Limit, n)
		own.Charges[i] = c
		s.begin(op, i, c.Limit, n)
	}
	var results [1]engine.Result
	if op.Kind == engine.OpAcquire {
		s.hold(&own, &results[0])
	} else {
		s.own.Do(context.Background(), []engine.Op{own}, results[:])
	}
	if results[0].Err != nil {
		r.Err = results[0].Err
		return
	}
	s.answered.Add(1)
	*r = results[0]
	r.Outcome.Promise = engine.Promise{Mode: engine.Fallback, OvershootMax: bound}
	if r.Outcome.RetryAfter == engine.Never && couldPass(op) {
		r.Outcome.RetryAfter = again
	}
}

// beyond returns by how many units the shares of n processes together can exceed a limit:
// by its capacity, and by what it lends or queues, because a full queue of the store is
// still on its way when the shares begin. Each share of a pacer has a burst of 1 at least.
func beyond(l engine.Limit, n int64) int64 {
	m := l.Numbers()
	switch m.Algorithm {
	case algo.TokenBucket:
		depth, _ := m.Depth()
		return depth
	case algo.Pacer:
		depth, _ := m.Depth()
		return depth + max(0, n-m.Burst)
	default:
		return l.Capacity()
	}
}

// couldPass reports whether the operation could pass its untouched limits.
func couldPass(op *engine.Op) bool {
	for i := range op.Charges {
		step := []algo.Step{{Limit: op.Charges[i].Limit.Numbers(), Cost: op.Charges[i].Cost}}
		if algo.Peek(step, algo.Instant{}); step[0].Outcome.Wait == algo.Never {
			return false
		}
	}
	return true
}

// begin lowers a share to the key's part of what it had left when the store was last heard
// of. A limit that has recovered since then begins with its whole share.
func (s *Store) begin(op *engine.Op, i int, share engine.Limit, n int64) {
	if share.Algorithm() == algo.Concurrency {
		return // its units are held, and not spent
	}
	hash, p, lock := s.known.at(op, i)
	lock.Lock()
	defer lock.Unlock()
	if p.key != hash || !p.heard {
		return
	}
	p.heard = false
	if s.config.Memory.Clock().UnixMicro() >= p.full {
		return
	}
	space, key := op.Subject(i)
	ops := []engine.Op{{Kind: engine.OpPeek, Space: space, Key: key, Charges: []engine.Charge{{Limit: share}}}}
	results := make([]engine.Result, 1)
	s.own.Do(context.Background(), ops, results)
	if more := results[0].Outcome.Remaining - p.remaining/n; results[0].Err == nil && more > 0 {
		ops[0].Kind, ops[0].Charges[0].Cost = engine.OpAtMost, more
		s.own.Do(context.Background(), ops, results)
	}
}
