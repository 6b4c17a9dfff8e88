package memstore

import (
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// single decides an operation on one limit of a key whose state is there, in two
// words: what most operations are. It reports false, and has done nothing, where
// it is another.
func (s *Store) single(op *engine.Op, r *engine.Result) bool {
	if len(op.Charges) != 1 || op.Kind > engine.OpGive {
		return false
	}
	charge := &op.Charges[0]
	limit := charge.Limit.Numbers()
	if limit.Algorithm > algo.FixedWindow || limit.Align != algo.AlignFirst {
		return false
	}
	space, key := op.Subject(0)
	c := s.classes.of(space, charge.Limit)
	hash := s.secret.hash(key)
	h := &s.shards[s.shard(hash)]
	now := s.clock.read(false)
	quick := op.Kind == engine.OpAllow && s.clock.turned == nil
	var o algo.Outcome
	if quick && h.hot.refuse(hash, c, limit, now.Now, charge.Cost, &o) {
		return answer(op, r, &o, false, now)
	}

	h.mu.Lock()
	if h.hot.cool(hash) {
		now = s.clock.read(false)
	}
	if s.clock.turned == nil {
		now.Now = max(now.Now, h.last)
		h.last = now.Now
	}
	place := nowhere
	if !c.stale.Load() {
		place = h.find(&s.classes, hash, c)
	}
	if place == nowhere || h.table.slots[place].boxed() {
		h.mu.Unlock()
		return false
	}
	if slot := &h.table.slots[place]; quick && slot.class == c.id {
		if allowed, ok := slot.state.Quick(limit, now.Now, charge.Cost, &o); ok {
			if !allowed && now.Now%hotEvery == 0 {
				h.hot.set(hash, c, slot.state, now.Now)
				// Whoever was refused by what stood there was so before.
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

// bySteps decides an operation on the state at a place.
func (s *Store) bySteps(op *engine.Op, r *engine.Result, h *shard, place int, c *class, now algo.Instant) {
	steps := [1]algo.Step{op.Step(0)}
	steps[0].State = h.load(&s.classes, place)
	allowed, granted := op.Decide(steps[:], now)
	if step := &steps[0]; step.Write {
		if step.TTL > 0 {
			h.put(&s.classes, place, c, &step.State, now.Now+step.TTL)
		} else {
			h.remove(&s.classes, place)
			h.publish()
			s.keys.Add(-1)
		}
	}
	r.Outcome.Fill(op, steps[:], allowed, granted, now.Now)
}

// answer fills in the answer to a take.
func answer(op *engine.Op, r *engine.Result, o *algo.Outcome, allowed bool, now algo.Instant) bool {
	granted := int64(0)
	if allowed {
		granted = op.Charges[0].Cost
	}
	r.Outcome.FillOne(o, allowed, granted, now.Now)
	return true
}
