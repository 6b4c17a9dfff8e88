package memstore

import (
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/algo"
)

// single decides an operation on one limit of a key whose state is there, in two
// words: what most operations are. It reports false, and has done nothing, where
// it is another.
func (s *Store) single(op *headgate.Op, r *headgate.Result) bool {
	if len(op.Charges) != 1 || op.Kind > headgate.OpGive {
		return false
	}
	charge := &op.Charges[0]
	limit := charge.Limit.Numbers()
	if limit.Algorithm > algo.FixedWindow || limit.Align != algo.AlignFirst {
		return false
	}
	space, key := op.Subject(0)
	c := s.classes.of(space, charge.Limit)
	hash, shard := s.place(key)
	h := &s.shards[shard]
	now := s.clock.read(false)

	h.mu.Lock()
	if s.clock.turned == nil {
		now.Now = max(now.Now, h.last)
		h.last = now.Now
	}
	place := nowhere
	if !c.stale.Load() {
		place = h.find(&s.classes, hash, key, c)
	}
	if place == nowhere || h.table.slots[place].length == boxed {
		h.mu.Unlock()
		return false
	}
	slot := &h.table.slots[place]
	if op.Kind == headgate.OpTake && slot.class == c.id && s.clock.turned == nil {
		var o algo.Outcome
		if allowed, ok := slot.state.Quick(limit, now.Now, charge.Cost, &o); ok {
			h.mu.Unlock()
			r.Decision.FillOne(op, &o, allowed, time.UnixMicro(now.Now))
			if allowed {
				r.Decision.Granted = charge.Cost
			}
			return true
		}
	}
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
	h.mu.Unlock()

	r.Decision.Fill(op, steps[:], allowed, time.UnixMicro(now.Now))
	r.Decision.Granted = granted
	return true
}
