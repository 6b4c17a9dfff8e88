package fallback

import (
	"context"
	"fmt"
	"slices"
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
	own, bound := shares(op, n)
	for i := range own.Charges {
		s.begin(op, i, own.Charges[i].Limit, n)
	}
	decide := s.alone
	if op.Kind == engine.OpAcquire {
		decide = s.hold
	}
	answer := decide(&own)
	if answer.Err != nil {
		r.Err = answer.Err
		return
	}
	s.answered.Add(1)
	*r = answer
	r.Outcome.Promise = engine.Promise{Mode: engine.Fallback, OvershootMax: bound}
	if r.Outcome.RetryAfter == engine.Never && couldPass(op) {
		r.Outcome.RetryAfter = again
	}
}

// shares returns an operation on the shares of its limits, and by how many units they can
// exceed one of the limits.
func shares(op *engine.Op, n int64) (own engine.Op, bound int64) {
	own = *op
	own.Charges = slices.Clone(op.Charges)
	for i := range own.Charges {
		c := &own.Charges[i]
		bound = max(bound, beyond(c.Limit, n))
		c.Limit = engine.Share(c.Limit, n)
	}
	return own, bound
}

// alone decides an operation on the counters of this process.
func (s *Store) alone(op *engine.Op) engine.Result {
	var results [1]engine.Result
	s.own.Do(context.Background(), []engine.Op{*op}, results[:])
	return results[0]
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
	remaining, full, known := s.known.take(hash, p)
	if !known || s.config.Memory.Clock().UnixMicro() >= full {
		return
	}
	space, key := op.Subject(i)
	lower := engine.Single(engine.OpPeek, key, share, 0)
	lower.Space = space
	now := s.alone(&lower)
	if more := now.Outcome.Remaining - remaining/n; now.Err == nil && more > 0 {
		lower.Kind, lower.Charges[0].Cost = engine.OpAtMost, more
		s.alone(&lower)
	}
}
