package fallback

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
)

// permits records the latest end of all permits in the memory of this process: those that shares granted, which are sent
// to the store as soon as it answers (outbox.go), and those that the store granted to this process, which its shares
// count.
type permits struct{ until atomic.Int64 } // in µs since 1970

// given records a permit that lasts until ends.
func (p *permits) given(ends int64) {
	for until := p.until.Load(); until < ends && !p.until.CompareAndSwap(until, ends); {
		until = p.until.Load()
	}
}

// alive reports whether a permit can still be held.
func (p *permits) alive(now int64) bool { return now < p.until.Load() }

// hasPermits reports whether the operation reserves permits.
func hasPermits(op *engine.Op) bool {
	_, ok := op.Permits()
	return ok && op.Kind == engine.OpReserve
}

// leases returns the shortest and the longest lease of an operation's limits, in µs. A permit is lost after the
// shortest lease, but occupies units until the longest has ended.
func leases(op *engine.Op) (shortest, longest int64) {
	shortest = math.MaxInt64
	for i := range op.Charges {
		lease := op.Charges[i].Limit.Numbers().Period
		shortest, longest = min(shortest, lease), max(longest, lease)
	}
	return shortest, longest
}

// grant decides an operation with the counters in this process. Until a lease after the start, it grants no permit of a
// part of the store that has never answered this process, because an earlier process may have granted permits that are
// still held.
func (s *Store) grant(own *engine.Op) (r engine.Answer) {
	if _, holds := own.Acquires(); !holds {
		return s.alone(own)
	}
	longest := int64(0)
	for i := range own.Charges {
		limit := own.Charges[i].Limit
		if !limit.Algorithm().Holds() {
			continue
		}
		lease := limit.Numbers().Period
		longest = max(longest, lease)
		if early := lease - s.elapsed(); early > 0 && !s.heardOf(own, i) {
			r = engine.Answer{AtMicros: s.now(), Binding: i}
			r.Resize(len(own.Charges))
			r.Binds().Limit, r.Binds().RetryAfter = limit.Capacity(), time.Duration(early)*time.Microsecond
			return r
		}
	}
	if r = s.alone(own); r.Err == nil && r.Allowed {
		s.permits.given(s.now() + longest)
	}
	return r
}

// queueShare adds a permit that a share granted to the operations owed to the store. The store gets it under the
// holder's own id, even if it exceeds the limit, so that it denies until holders have left (regression: bug 60). sent
// means that the store may have granted the permit too. If there is no room for another owed operation, the share
// grants no permit.
func (s *Store) queueShare(op *engine.Op, r *engine.Answer, sent bool) {
	now := s.now()
	shortest, _ := leases(op)
	if !s.outbox.add(op, now+shortest, now, sent, false) {
		s.releaseShare(op)
		r.Allowed, r.Granted, r.Binds().RetryAfter = false, 0, again
		return
	}
	s.outbox.given.Add(1)
}

// both records that the store and a share have granted the same permit. If the store loses the permit, it is owed to
// the store again.
func (s *Store) both(op *engine.Op) {
	shortest, _ := leases(op)
	s.outbox.add(op, s.now()+shortest, s.now(), true, true) // if there is no room, it is not sent again
}

// queueRelease releases, in the background, a permit that the store may have granted or may still have.
func (s *Store) queueRelease(op *engine.Op) {
	release := *op
	release.Kind = engine.OpRelease
	_, longest := leases(op)
	s.outbox.add(&release, s.now()+longest, s.now(), true, false) // if there is no room, it stays until its lease ends
}

// unknown reports whether an error means that the store may have decided the operation.
func unknown(err error) bool { return errors.Is(err, engine.ErrOutcomeUnknown) }

// outside returns the set of acquires, by index, whose key has permits that were granted by shares and are missing
// from the store. It must run before the call to the store, because the store may get those permits during the
// call. It does not include permits that shares grant during the call.
func (s *Store) outside(ops []engine.Op) (found map[int]bool) {
	for i := range ops {
		if (ops[i].Kind == engine.OpAcquire || hasPermits(&ops[i])) && s.outbox.holds(&ops[i]) {
			if found == nil {
				found = make(map[int]bool)
			}
			found[i] = true
		}
	}
	return found
}

// acquired handles the answer to an acquire, or to a reserve of permits.
func (s *Store) acquired(op *engine.Op, r *engine.Answer, outside bool) {
	permits, _ := op.Acquires()
	switch {
	case unknown(r.Err):
		s.queueRelease(&permits)
	case r.Err == nil && r.Allowed && r.Promise.Mode != engine.Fallback:
		s.outbox.held(&permits)
		s.count(&permits, leftInStore(op, r))
		if outside {
			r.Promise = engine.Promise{Mode: engine.Fallback}
			for i := range permits.Charges {
				r.Promise.OvershootMax = max(r.Promise.OvershootMax, s.bound(permits.Charges[i].Limit))
			}
		}
	}
}

// leftInStore returns the units that the answer to an operation leaves, for each charge of its [engine.Op.Acquires].
func leftInStore(op *engine.Op, r *engine.Answer) (left []int64) {
	for i := range op.Charges {
		if c := &op.Charges[i]; op.Kind == engine.OpAcquire || c.Limit.Algorithm().Holds() && c.Cost > 0 {
			left = append(left, max(0, r.Of(i).Limit-heldIn(r.Of(i))))
		}
	}
	return left
}

// heldIn returns the units that the holders of a limit have together.
func heldIn(s *engine.Standing) int64 {
	if s.HeldByAll > 0 {
		return s.HeldByAll
	}
	return s.Limit - s.Remaining
}

// count adds a permit of the store to this process's own, so that its share grants only what is left of it. The share may
// be smaller than what the process holds.
//
// This process does not see the releases that other processes receive. Therefore it counts at most what leaves its share
// the part of the units left in the store that a share begins with. The newest permit then stands for all.
func (s *Store) count(op *engine.Op, left []int64) {
	own := *op
	own.Charges = slices.Clone(op.Charges)
	for i := range own.Charges {
		c := &own.Charges[i]
		c.Limit = engine.MostPermits(engine.Shares(c.Limit, 1)[0], time.Duration(c.Limit.Numbers().Period)*time.Microsecond)
	}
	r := s.alone(&own)
	if r.Err != nil { // if there is no room, the share grants more, within its bound
		return
	}
	_, longest := leases(op)
	s.permits.given(s.now() + longest)
	n, _ := s.processes.count()
	n = max(n, 1)
	over := false
	for i := range own.Charges {
		held, share := heldIn(r.Of(i)), engine.Shares(op.Charges[i].Limit, n)[0].Capacity()
		own.Charges[i].Cost = min(held, max(0, share-part(left[i], n)))
		over = over || own.Charges[i].Cost < held
	}
	if over && !s.outbox.holds(op) {
		own.Kind = engine.OpReset
		s.alone(&own)
		own.Kind = engine.OpAcquire
		s.alone(&own)
	}
}

// keep renews or releases a permit in this process's memory. It returns false if no share granted it: then the store's
// answer counts.
func (s *Store) keep(op *engine.Op, r *engine.Answer) bool {
	own := s.shares(op, 1) // the units do not matter here
	answer := s.alone(&own.op)
	renewed := op.Kind == engine.OpRenew && answer.Allowed
	if answer.Err != nil || !renewed && !answer.Found || !s.outbox.granted(op) {
		return false
	}
	if renewed {
		shortest, longest := leases(op)
		s.permits.given(s.now() + longest)
		s.outbox.renewed(op, s.now()+shortest, s.now(), false)
	}
	*r = answer
	r.Promise = engine.Promise{Mode: engine.Fallback, OvershootMax: own.bound}
	return true
}

// keepOwn renews and releases permits in this process's memory, and returns the answers of shares by index. The store gets the
// operations too, because it may also have the permit.
func (s *Store) keepOwn(ops []engine.Op, results []engine.Answer) (kept map[int]engine.Answer) {
	if !s.permits.alive(s.now()) {
		return nil
	}
	for i := range ops {
		var r engine.Answer
		if (ops[i].Kind == engine.OpRenew || ops[i].Kind == engine.OpRelease) && results[i].Err == nil && s.keep(&ops[i], &r) {
			if kept == nil {
				kept = make(map[int]engine.Answer)
			}
			kept[i] = r
		}
	}
	return kept
}

// kept combines the store's answer with the share's answer. The share has renewed or released its permit. If the
// store has the permit too, the store has done the same.
func (s *Store) kept(op *engine.Op, d *engine.Answer, own engine.Answer) {
	if op.Kind == engine.OpRelease {
		outside, sent := s.outbox.drop(op)
		if outside && sent && !d.Found || !outside && d.Err != nil {
			s.queueRelease(op)
		}
	}
	renewed := op.Kind == engine.OpRenew && d.Allowed
	if d.Err == nil && (renewed || d.Found) {
		return
	}
	*d = own
	if op.Kind == engine.OpRenew {
		shortest, _ := leases(op)
		s.outbox.renewed(op, s.now()+shortest, s.now(), true)
	}
}

// releaseShare returns a permit to the share after the store has denied the operation.
func (s *Store) releaseShare(op *engine.Op) {
	release := *op
	release.Kind = engine.OpRelease
	s.keep(&release, new(engine.Answer))
}
