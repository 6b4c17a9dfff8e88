package memstore

import (
	"sync/atomic"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// fast decides an operation on one limit of a key that has a state of two words, as most
// operations do. It reports false, and has changed no state, if the operation is of
// another kind.
func (s *Store) fast(op *engine.Op, r *engine.Result) bool {
	if len(op.Charges) != 1 || op.Kind > engine.OpGive {
		return false
	}
	charge := &op.Charges[0]
	limit := charge.Limit.Numbers()
	if !limit.Algorithm.InWords() || limit.Align != algo.AlignFirst {
		return false
	}
	space, key := op.Subject(0)
	c := s.scopes.of(space, charge.Limit)
	hash := s.secret.hash(key)
	h := &s.shards[s.shard(hash)]
	now := s.clock.read(false)
	quick := op.Kind == engine.OpAllow && s.clock.custom == nil
	var o algo.Outcome
	if quick && h.hot.deny(hash, c, limit, now.Now, charge.Cost, &o) {
		return answer(op, r, &o, false, now)
	}

	h.mu.Lock()
	if h.hot.cool(hash) {
		now = s.clock.read(false)
	}
	if s.clock.custom == nil {
		now.Now = max(now.Now, h.last)
		h.last = now.Now
	}
	place := nowhere
	if !c.stale.Load() {
		place = h.find(&s.scopes, hash, c)
	}
	if place == nowhere || h.table.slots[place].boxed() {
		h.mu.Unlock()
		return false
	}
	if slot := &h.table.slots[place]; quick && slot.scope == c.id {
		if allowed, ok := slot.state.Quick(limit, now.Now, charge.Cost, &o); ok {
			if !allowed && now.Now%hotEvery == 0 {
				h.hot.set(hash, c, slot.state, now.Now)
				// Callers that this state denied were denied before now.
				h.last = max(h.last, s.clock.read(false).Now)
			}
			h.mu.Unlock()
			return answer(op, r, &o, allowed, now)
		}
	}
	s.bySteps(op, r, h, place, c, now)
	h.mu.Unlock()
	return true
}

// bySteps decides an operation on the state at a place with the steps of package algo.
func (s *Store) bySteps(op *engine.Op, r *engine.Result, h *shard, place int, c *scope, now algo.Instant) {
	steps := [1]algo.Step{op.Step(0)}
	steps[0].State = h.load(&s.scopes, place)
	allowed, granted := op.Decide(steps[:], now)
	if step := &steps[0]; step.Write {
		if step.TTL > 0 {
			h.put(&s.scopes, place, c, &step.State, now.Now+step.TTL)
		} else {
			h.remove(&s.scopes, place)
			h.publish()
			s.keys.Add(-1)
		}
	}
	r.Outcome.Fill(op, steps[:], allowed, granted, now.Now)
}

// answer fills in the result of an allow.
func answer(op *engine.Op, r *engine.Result, o *algo.Outcome, allowed bool, now algo.Instant) bool {
	granted := int64(0)
	if allowed {
		granted = op.Charges[0].Cost
	}
	r.Outcome.FillOne(o, allowed, granted, now.Now)
	return true
}

// hot is a copy of the state of one denied key of a shard, which callers read without the
// shard's lock. A denial changes nothing, so callers of a busy key are denied in
// parallel. It is written under the lock. A caller that takes the lock for this key
// removes the copy, and a caller that copies another key replaces it. Both read the clock
// after that, so that here, too, the order of decisions on a key is the order of their
// instants.
//
// It is a sequence lock: a reader that finds another version at the end than at the
// beginning may have read halves of two states.
type hot struct {
	version atomic.Uint64
	scope   atomic.Pointer[scope] // nil while there is no copy
	hi, lo  atomic.Uint64
	state   [2]atomic.Uint64
	at      atomic.Int64 // when the copy was made
}

// hotEvery is how many µs lie between the instants at which a denied caller copies its
// key's state here. A busy key soon meets such an instant; other keys cost nothing.
const hotEvery = 64

// deny decides as Quick does if Quick denies; ok is false otherwise.
func (t *hot) deny(key hash, c *scope, limit *algo.Limit, now, cost int64, o *algo.Outcome) (ok bool) {
	version := t.version.Load()
	if t.scope.Load() != c || !t.of(key) {
		return false
	}
	state, at := algo.Words{t.state[0].Load(), t.state[1].Load()}, t.at.Load()
	if t.version.Load() != version || now < at {
		return false
	}
	allowed, ok := state.Quick(limit, now, cost, o)
	return ok && !allowed
}

func (t *hot) of(key hash) bool { return t.hi.Load() == key.hi && t.lo.Load() == key.lo }

// set copies a key's state here.
func (t *hot) set(key hash, c *scope, state algo.Words, now int64) {
	t.scope.Store(nil)
	t.version.Add(1)
	t.hi.Store(key.hi)
	t.lo.Store(key.lo)
	t.state[0].Store(state[0])
	t.state[1].Store(state[1])
	t.at.Store(now)
	t.scope.Store(c)
}

// cool removes a key's state, and reports whether it was here.
func (t *hot) cool(key hash) bool {
	if t.scope.Load() == nil || !t.of(key) {
		return false
	}
	t.scope.Store(nil)
	return true
}

// forget removes the state of a slot.
func (t *hot) forget(s *slot) {
	if t.scope.Load() != nil && t.hi.Load() == s.hi {
		t.scope.Store(nil)
	}
}
