package memstore

import (
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// Every key has room for one permit. Each further permit takes the room of permitKeys keys, in the store and in the share
// of its namespace: a concurrency limit can have 100 000 permits for one key, of about 160 bytes each.
const permitKeys = 4

// permitRoom returns the number of keys for which a state's permits take room, beyond the state's own key.
func permitRoom(state *algo.State) int64 {
	stored, _ := state.Permits(0)
	return permitKeys * max(0, int64(stored)-1)
}

// addPermits counts room that permits take (or, if n is negative, no longer take). Whether there is enough was checked
// before.
func (s *share) addPermits(n int64) (after int64) {
	if n == 0 {
		return s.keys.Load()
	}
	s.room.permits.Add(n)
	after = s.keys.Add(n)
	own := s.room.own.Load()
	s.room.common.Add(max(0, after-own) - max(0, after-n-own))
	return after
}

// fitsPermit reserves room for another permit of a stored key.
func (s *Store) fitsPermit(c *scope) bool {
	r := &s.room
	after := c.share.addPermits(permitKeys)
	if c.share.most > 0 && after > c.share.most || after > r.own.Load() && r.common.Load() > r.shared.Load() || s.counted() > r.most {
		c.share.addPermits(-permitKeys)
		return false
	}
	return true
}

// counted returns the number of keys, including those for which permits take room.
func (s *Store) counted() int64 { return s.keys.Load() + s.room.permits.Load() }

// takesPermit reports whether the operation needs room for another permit of a stored key. If a permit of the key has
// expired, the new permit takes its place.
func (t *transaction) takesPermit(i int) bool {
	step := &t.steps[i]
	if t.op.Kind != engine.OpAcquire && t.op.Kind != engine.OpReserve || step.Cost == 0 || !step.Limit.Algorithm.Holds() {
		return false
	}
	stored, live := step.State.Permits(t.now.Now)
	return stored > 0 && stored == live
}

// takePermits reserves room for the permits that the operation may add to stored keys.
func (t *transaction) takePermits() bool {
	for i := range t.places {
		if p := &t.places[i]; p.slot != nowhere && t.takesPermit(i) {
			if p.permit = t.store.fitsPermit(p.scope); !p.permit {
				return false
			}
		}
	}
	return true
}

// leavePermits returns the room that takePermits has reserved. What permits take is then counted with their states.
func (t *transaction) leavePermits() {
	for i := range t.places {
		if p := &t.places[i]; p.permit {
			p.permit = false
			p.scope.share.addPermits(-permitKeys)
		}
	}
}

// morePermits reports whether the operation may add a permit to a stored key.
func (t *transaction) morePermits() bool {
	for i := range t.places {
		if t.places[i].slot != nowhere && t.takesPermit(i) {
			return true
		}
	}
	return false
}
