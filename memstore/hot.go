package memstore

import (
	"sync/atomic"

	"github.com/headgate/headgate/engine/algo"
)

// hot is the state of one of a shard's keys, which was refused, for all to read
// without the shard's lock: a refusal changes nothing, so that callers of a key
// that many ask for are refused side by side. It is written under the lock. Who
// takes the lock for the key makes it cold, and who puts another there takes it
// away: they read the clock after that, so that the order of decisions on a key is
// that of their instants, here too.
//
// It is a sequence lock: who finds another version at the end than at the
// beginning may have read halves of two states.
type hot struct {
	version atomic.Uint64
	class   atomic.Pointer[class] // nil where there is none
	hi, lo  atomic.Uint64
	state   [2]atomic.Uint64
	at      atomic.Int64 // when it was put there
}

// hotEvery is how many µs pass between the instants at which who is refused puts
// its key there: what is asked for often is soon met, what is not costs nothing.
const hotEvery = 64

// refuse decides as Quick does, where it refuses; ok is false otherwise.
func (t *hot) refuse(key hash, c *class, limit *algo.Limit, now, cost int64, o *algo.Outcome) (ok bool) {
	version := t.version.Load()
	if t.class.Load() != c || !t.of(key) {
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

// set puts a key's state there.
func (t *hot) set(key hash, c *class, state algo.Words, now int64) {
	t.class.Store(nil)
	t.version.Add(1)
	t.hi.Store(key.hi)
	t.lo.Store(key.lo)
	t.state[0].Store(state[0])
	t.state[1].Store(state[1])
	t.at.Store(now)
	t.class.Store(c)
}

// cool takes a key's state away, and reports whether it was there.
func (t *hot) cool(key hash) bool {
	if t.class.Load() == nil || !t.of(key) {
		return false
	}
	t.class.Store(nil)
	return true
}

// forget takes the state of a slot away.
func (t *hot) forget(s *slot) {
	if t.class.Load() != nil && t.hi.Load() == s.hi {
		t.class.Store(nil)
	}
}
