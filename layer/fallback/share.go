package fallback

import (
	"context"
	"errors"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/memstore"
)

const (
	// again is the RetryAfter for a cost that exceeds the share but not the limit, and for a request that is denied
	// because the memory or the outbox is full. The store may be back by then.
	again = time.Second
	// longestWait is the longest RetryAfter of a denial by a share, for the same reason. A longer wait becomes half of
	// this time to all of it, so that callers do not come back at once.
	longestWait = 5 * time.Second
)

// shares is an operation translated to counters of this process: one or more for each charge.
type shares struct {
	op engine.Op
	of []int // the index of each counter's charge
	// bound is the largest possible excess over one of the limits, in units.
	bound int64
}

// ownOp returns the operation on this process's counters for op, without charges. A reserve has no delay.
func ownOp(op *engine.Op) *shares {
	own := &shares{op: engine.Op{Kind: op.Kind, Space: op.Space, Key: op.Key, ID: op.ID, Listed: op.Listed}}
	if op.Kind == engine.OpCount {
		own.op.Kind = engine.OpAtMost
	}
	return own
}

// add adds a counter for one of an operation's charges.
func (own *shares) add(op *engine.Op, i int, limit engine.Limit) *engine.Charge {
	charge := op.Charges[i]
	charge.Limit, charge.Report = limit, nil                                       // a share ignores outcomes
	if op.Charges[i].Limit.Algorithm().Divides() && !limit.Algorithm().Divides() { // the keys of other processes are unknown
		charge.Space, charge.Key = op.Counted(i)
	}
	if charge.Items == 0 && len(op.Charges) > 1 {
		charge.Items = 1 << i
	}
	own.op.Charges, own.of = append(own.op.Charges, charge), append(own.of, i)
	return &own.op.Charges[len(own.op.Charges)-1]
}

// shares translates op into an operation on this process's shares, one nth of each limit.
func (s *Store) shares(op *engine.Op, n int64) *shares {
	own := ownOp(op)
	for i := range op.Charges {
		own.bound = max(own.bound, s.bound(op.Charges[i].Limit))
		for window, share := range engine.Shares(op.Charges[i].Limit, n) {
			own.add(op, i, share)
			s.begin(op, i, window, share, n)
		}
	}
	return own
}

// bound returns the number of units by which shares can exceed a limit. It is half as much again if more processes are
// expected than there are: in an outage, new ones would have smaller shares than those that know the number.
func (s *Store) bound(limit engine.Limit) int64 {
	n, more := s.processes.count()
	bound := engine.SharesBound(limit, n)
	if more {
		bound += (bound + 1) / 2
	}
	return bound
}

// noShare is the error of a process that does not know its share of the limits.
type noShare struct{ cause error }

const noShareText = "; this process has no share of the limits, because the number of processes has not been the same for a minute: set Config.Expect (--expect-processes)"

func (e *noShare) Error() string { return e.cause.Error() + noShareText }

// Public returns the text for clients, whose operators are told of the missing setting by it.
func (e *noShare) Public() string {
	if p, ok := errors.AsType[interface {
		error
		Public() string
	}](e.cause); ok {
		return p.Public() + noShareText
	}
	return e.Error()
}

func (e *noShare) Unwrap() error { return e.cause }

// share decides an operation with this process's shares of its limits.
func (s *Store) share(op *engine.Op, r *engine.Answer) {
	n, _ := s.processes.count()
	if n == 0 {
		r.Err = &noShare{r.Err}
		return
	}
	own, sent := s.shares(op, n), unknown(r.Err)
	permits, holds := op.Acquires()
	answer := s.grant(&own.op)
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
	case holds && answer.Allowed:
		s.queueShare(&permits, r, sent)
	case holds && sent:
		s.queueRelease(&permits)
	}
	if !r.Allowed {
		s.soon(op, r)
	}
}

// soon sets how long callers wait after a denial by a share. The store may be back soon, so it is at most longestWait,
// unless the store itself has denied the key for longer. A reserve waits for its slot.
func (s *Store) soon(op *engine.Op, r *engine.Answer) {
	most := longestWait
	for i := range r.Len() {
		switch of := r.Of(i); {
		case of.RetryAfter == engine.Never:
			if couldPass(op) {
				of.RetryAfter = again
			}
		case of.RetryAfter > longestWait && op.Kind != engine.OpReserve:
			if most == longestWait {
				most -= rand.N(longestWait / 2) //nolint:gosec // no secret
			}
			of.RetryAfter = most
		}
	}
	if left := s.deniedFor(op); left > r.Binds().RetryAfter && r.Binds().RetryAfter != engine.Never {
		r.Binds().RetryAfter = left
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

// couldPass reports whether the operation could pass if all units of its limits were available.
func couldPass(op *engine.Op) bool {
	if op.Chosen() {
		steps := make([]algo.Step, len(op.Charges))
		for i := range steps {
			steps[i] = op.Step(i)
		}
		return algo.Peek(steps, algo.Instant{})
	}
	for i := range op.Charges {
		step := []algo.Step{{Limit: op.Charges[i].Limit.Numbers(), Cost: op.Charges[i].Cost}}
		if algo.Peek(step, algo.Instant{}); step[0].Outcome.Wait == algo.Never {
			return false
		}
	}
	return true
}

// begin lowers a share that has not been charged yet. If the store has never answered this process about its part, the
// share was empty when the process started, and has refilled since then. If the store's last answer about the key is
// remembered, the share also gets at most 1/n of the units that were left at that time, and at least one if there were
// any. Therefore neither restarts nor many short outages grant units twice.
func (s *Store) begin(op *engine.Op, charge, window int, share engine.Limit, n int64) {
	if a := share.Algorithm(); a.Holds() || a.Constant() {
		return
	}
	hash, p, lock := s.known.at(op, charge, window)
	lock.Lock()
	defer lock.Unlock()
	level := share.Capacity()
	if !s.heardOf(op, charge) {
		level = refilled(share.Numbers(), s.elapsed())
	}
	if left, known := s.left(hash, p, op.Charges[charge].Limit, begunShare); known {
		level = min(level, part(left, n))
	}
	space, key := op.Counted(charge)
	s.lower(space, key, share, level)
}

// part returns one nth of the units that are left, and at least one if there are any.
func part(left, n int64) int64 { return max(left/n, min(left, 1)) }

// lower lowers the counter of a key in this process to the given number of units.
func (s *Store) lower(space, key string, limit engine.Limit, level int64) {
	if level >= limit.Capacity() {
		return
	}
	op := engine.Single(engine.OpPeek, key, limit, 0)
	op.Space = space
	full := s.alone(&op)
	if more := full.Binds().Remaining - level; more > 0 {
		op.Kind, op.Charges[0].Cost = engine.OpAtMost, more
		s.alone(&op)
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
