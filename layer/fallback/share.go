package fallback

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/memstore"
)

// again is the RetryAfter for a cost that exceeds the share but not the limit, and for a request that is denied because
// the memory or the outbox is full. The store may be back by then.
const again = time.Second

// shares is an operation translated to this process's shares of its limits: one or more buckets for each charge.
type shares struct {
	op engine.Op
	of []int // the index of each bucket's charge
	// bound is the largest possible excess of all shares over one of the limits, in units.
	bound int64
}

// shares translates op into an operation on this process's shares, one nth of each limit. wanted selects charges by
// index. If it is nil, all charges are selected.
func (s *Store) shares(op *engine.Op, n int64, wanted func(charge int) bool) *shares {
	own := &shares{op: engine.Op{Kind: op.Kind, Space: op.Space, Key: op.Key, ID: op.ID, Listed: op.Listed}}
	switch op.Kind {
	case engine.OpReserve:
		if !hasPermits(op) {
			own.op.Kind = engine.OpAllow
		}
	case engine.OpCount:
		own.op.Kind = engine.OpAtMost
	}
	for i := range op.Charges {
		if wanted != nil && !wanted(i) {
			continue
		}
		own.bound = max(own.bound, engine.SharesBound(op.Charges[i].Limit, n))
		for window, share := range engine.Shares(op.Charges[i].Limit, n) {
			charge := op.Charges[i]
			charge.Limit, charge.Report = share, nil // a share ignores outcomes

			if op.Charges[i].Limit.Algorithm().Divides() && !share.Algorithm().Divides() { // the keys of other processes are unknown
				charge.Space, charge.Key = op.Counted(i)
			}
			if charge.Items == 0 && len(op.Charges) > 1 {
				charge.Items = 1 << i
			}
			own.op.Charges, own.of = append(own.op.Charges, charge), append(own.of, i)
			s.begin(op, i, window, share, n)
		}
	}
	return own
}

// share decides an operation with this process's shares of its limits.
func (s *Store) share(op *engine.Op, r *engine.Answer, wanted func(charge int) bool) {
	n := int64(s.processes.count())
	if n == 0 {
		if r.Err == nil {
			r.Err = fmt.Errorf("%w: it has lost data", engine.ErrStoreUnavailable)
		}
		r.Err = fmt.Errorf("%w; it is not known how many processes share the limits: set Config.Expect (--expect-processes)", r.Err)
		return
	}
	own, sent := s.shares(op, n, wanted), unknown(r.Err)
	permits, holds := permitsOf(op)
	var answer engine.Answer
	if holds {
		answer = s.hold(&own.op)
	} else {
		answer = s.alone(&own.op)
	}
	switch {
	case errors.Is(answer.Err, memstore.ErrFull):
		// If an outage affects more keys than fit, new keys are denied, because a share that was dropped would start
		// over.
		answer = engine.Answer{AtMicros: s.now()}
		answer.Binds().RetryAfter = again
		own.of = nil
	case answer.Err != nil:
		r.Err = answer.Err
		return
	}
	s.answered.Add(1)
	*r = own.outcome(op, &answer)
	if settleable(op) && answer.Allowed {
		r.ByShares = s.charged(own, &answer)
	}
	switch {
	case holds && answer.Allowed && wanted == nil:
		s.queueShare(&permits, r, sent)
	case holds && sent:
		s.queueRelease(&permits)
	}
	if r.Binds().RetryAfter == engine.Never && couldPass(op) {
		r.Binds().RetryAfter = again
	}
}

// outcome converts the buckets' answer to an answer for the operation's own charges. A charge with several buckets gets
// the answer of the binding bucket.
func (own *shares) outcome(op *engine.Op, answer *engine.Answer) engine.Answer {
	o := *answer
	o.Promise = engine.Promise{Mode: engine.Fallback, OvershootMax: own.bound}
	if op.Kind == engine.OpCount {
		o.Allowed = answer.Granted == op.Units()
	}
	o.Binding = 0
	o.Resize(len(op.Charges))
	for i := range op.Charges {
		limit := op.Charges[i].Limit
		o.Of(i).Unlimited, o.Of(i).Limit, o.Of(i).Remaining = limit.Unlimited(), limit.Capacity(), limit.Capacity()
	}
	if len(own.of) == 0 {
		*o.Binds() = *answer.Binds()
		return o
	}
	o.Binding = own.of[answer.Binding]
	for bucket, i := range own.of {
		standing := *answer.Of(bucket)
		first := bucket == slices.Index(own.of, i)
		if before := o.Of(i); first || tighter(&standing, before) {
			*before = standing
			before.Window = bucket - slices.Index(own.of, i)
		}
	}
	*o.Binds() = *answer.Binds()
	o.Binds().Window = answer.Binding - slices.Index(own.of, o.Binding)
	return o
}

// tighter reports whether bucket a, rather than bucket b of the same limit, is binding.
func tighter(a, b *engine.Standing) bool {
	if a.RetryAfter != b.RetryAfter {
		return a.RetryAfter > b.RetryAfter
	}
	return a.Remaining < b.Remaining || a.Remaining == b.Remaining && a.ResetAfter > b.ResetAfter
}

// alone decides an operation with the counters in this process.
func (s *Store) alone(op *engine.Op) engine.Answer {
	var results [1]engine.Answer
	s.own.Do(context.Background(), []engine.Op{*op}, results[:])
	return results[0]
}

// now returns this process's time in µs since 1970.
func (s *Store) now() int64 { return s.config.Memory.Clock().UnixMicro() }

// probes is a pool of steps for couldPass, because a step escapes to the heap.
var probes = sync.Pool{New: func() any { return new([1]algo.Step) }}

// couldPass reports whether the operation could pass if all units of its limits were available.
func couldPass(op *engine.Op) bool {
	if op.Chosen() {
		steps := make([]algo.Step, len(op.Charges))
		for i := range steps {
			steps[i] = op.Step(i)
		}
		return algo.Peek(steps, algo.Instant{})
	}
	step := probes.Get().(*[1]algo.Step)
	defer probes.Put(step)
	for i := range op.Charges {
		step[0] = algo.Step{Limit: op.Charges[i].Limit.Numbers(), Cost: op.Charges[i].Cost}
		if algo.Peek(step[:], algo.Instant{}); step[0].Outcome.Wait == algo.Never {
			return false
		}
	}
	return true
}

// begin lowers a share that has not been charged yet. The share was empty when the process started, and has refilled
// since then. If the store's last answer about the key is remembered, the share also gets at most 1/n of the units that
// were left at that time. Therefore neither restarts nor many short outages grant units twice.
func (s *Store) begin(op *engine.Op, charge, window int, share engine.Limit, n int64) {
	if a := share.Algorithm(); a.Holds() || a.Constant() {
		return
	}
	hash, p, lock := s.known.at(op, charge, window)
	lock.Lock()
	defer lock.Unlock()
	now := s.now()
	level := refilled(share.Numbers(), now-s.began)
	if remaining, full, known := s.known.take(hash, p); known && now < full {
		level = min(level, remaining/n)
	}
	if level >= share.Capacity() {
		return
	}
	space, key := op.Counted(charge)
	lower := engine.Single(engine.OpPeek, key, share, 0)
	lower.Space = space
	full := s.alone(&lower)
	if more := full.Binds().Remaining - level; more > 0 {
		lower.Kind, lower.Charges[0].Cost = engine.OpAtMost, more
		s.alone(&lower)
	}
}

// refilled returns the number of units that a bucket refills in us µs, capped at its burst.
func refilled(l *algo.Limit, us int64) int64 {
	hi, lo := bits.Mul64(uint64(max(0, us)), uint64(l.Count))
	if hi >= uint64(l.Period) {
		return l.Burst
	}
	units, _ := bits.Div64(hi, lo, uint64(l.Period))
	return int64(min(units, uint64(l.Burst)))
}
