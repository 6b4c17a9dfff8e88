package memstore

import (
	"sync/atomic"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// There are two ways to a decision. An allow on one limit whose arithmetic is short is prepared: its counter is looked up
// before the lock is taken, and it is decided on the state where it lies. Everything else is a transaction (slow.go);
// inplace.go is that of one limit whose counter has a state.

// prepared is an allow whose counter has been looked up. Its scope is nil for an operation that is not prepared.
type prepared struct {
	limit   *algo.Limit
	scope   *scope
	hash    hash
	keyHash uint64
	shard   int
}

// prepare looks up an operation's counter, if the operation can be decided in this way.
func (s *Store) prepare(op *engine.Op, p *prepared) bool {
	if op.Kind != engine.OpAllow || len(op.Charges) != 1 || s.clock.custom != nil {
		return false
	}
	limit := op.Charges[0].Limit
	if !limit.Numbers().HasFastPath() {
		return false
	}
	space, key := op.Subject(0)
	p.limit, p.scope = limit.Numbers(), s.scopes.of(space, limit)
	p.hash, p.keyHash = s.counter(p.scope, p.limit, key)
	p.shard = s.shard(p.hash)
	return true
}

// allow decides a prepared allow. The argument at points to a clock reading, and is set to the instant of the decision.
// If only the steps of package algo can decide it, allow changes nothing.
func (s *Store) allow(p *prepared, cost int64, o *algo.Outcome, at *int64) verdict {
	if p.limit.Algorithm.Divides() {
		return s.takeDivided(&s.shards[p.shard], p.scope, p.limit, p.hash, p.keyHash, cost, o, at)
	}
	return s.take(&s.shards[p.shard], p.scope, p.limit, p.hash, cost, o, at)
}

// answer decides a prepared operation, and returns false if it must be a transaction. The argument now is a clock
// reading.
func (s *Store) answer(op *engine.Op, r *engine.Answer, p *prepared, now int64) bool {
	if p.scope == nil {
		return false
	}
	var o algo.Outcome
	cost := op.Charges[0].Cost
	switch s.allow(p, cost, &o, &now) {
	case verdictAllowed:
		r.FillOne(&o, true, cost, now)
	case verdictDenied:
		r.FillOne(&o, false, 0, now)
	default:
		return false
	}
	return true
}

// verdict is the result of take.
type verdict uint8

const (
	verdictAllowed verdict = iota
	verdictDenied
	verdictUndecided // only the steps of package algo can decide
)

// take decides an allow at the system clock's time, if [algo.Words.Allow] can decide with the key's state, or with an
// unused limit if the key has no state. Otherwise it changes nothing. The argument at points to a clock reading, and is
// set to the instant of the decision.
func (s *Store) take(h *shard, c *scope, limit *algo.Limit, key hash, cost int64, o *algo.Outcome, at *int64) verdict {
	now := *at
	if h.hot.deny(key, c, limit, now, cost, o) {
		return verdictDenied
	}
	h.mu.Lock()
	if h.hot.drop(key) {
		now = s.clock.micros()
	}
	now = max(now, h.last)
	h.last = now
	*at = now
	if c.stale.Load() {
		h.mu.Unlock()
		return verdictUndecided
	}
	index := h.find(&s.scopes, key, c)
	if index == nowhere {
		v := s.takeNew(h, c, limit, key, now, cost, o)
		h.mu.Unlock()
		return v
	}
	slot := &h.table.slots[index]
	if slot.scope != c.id { // the state was written with other parameters, or is in a box
		h.mu.Unlock()
		return verdictUndecided
	}
	passes, ok := slot.state.Allow(limit, now, cost, o)
	if ok && !passes && now%hotEvery == 0 {
		h.hot.set(key, c, slot.state, now)
		// Other goroutines may have used the replaced copy to deny requests after now. Read the clock again, so that no
		// later decision in this shard has an earlier time than these denials.
		h.last = max(h.last, s.clock.micros())
	}
	h.mu.Unlock()
	switch {
	case !ok:
		return verdictUndecided
	case passes:
		return verdictAllowed
	default:
		return verdictDenied
	}
}

// takeDivided is like take, for a fair share. It decides with [algo.State.AllowFair] if the common counter has a state.
func (s *Store) takeDivided(h *shard, c *scope, limit *algo.Limit, counter hash, keyHash uint64, cost int64, o *algo.Outcome, at *int64) verdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = max(h.last, *at)
	*at = h.last
	index := h.known(&s.scopes, counter, c)
	if index == nowhere {
		return verdictUndecided
	}
	b := &h.boxes[h.table.slots[index].state[0]] // a fair share never fits into a slot
	passes, ok := b.state.AllowFair(limit, *at, cost, keyHash, o)
	switch {
	case !ok:
		return verdictUndecided
	case !passes:
		return verdictDenied
	}
	b.expires = *at + o.Reset
	h.note(index, b.expires)
	return verdictAllowed
}

// takeNew decides an allow on a key without a state, and stores the key's first state. If the request does not pass, if
// there is no room, or if keys must be dropped or moved first, only the steps can decide it.
func (s *Store) takeNew(h *shard, c *scope, limit *algo.Limit, key hash, now, cost int64, o *algo.Outcome) verdict {
	if h.soonest.Load() <= s.outdated(now) || h.table.crowded() {
		return verdictUndecided
	}
	var state algo.Words // of an unused limit
	if passes, ok := state.Allow(limit, now, cost, o); !passes || !ok || !c.share.reserve() {
		return verdictUndecided
	}
	i := h.enter(s, key, c)
	h.table.slots[i].state = state
	h.note(i, state.Expires(limit, algo.Instant{Now: now}))
	return verdictAllowed
}

// known returns the index of a key's state. It returns nowhere if the key has no state or its scope was dropped.
func (h *shard) known(cs *scopes, key hash, c *scope) int {
	if c.stale.Load() {
		return nowhere
	}
	return h.find(cs, key, c)
}

// hot is a copy of the state of one denied key in a shard. Callers read it without the shard's lock: a denial changes
// nothing, so callers of a busy key are denied in parallel. The copy is written under the lock. A caller that takes the
// lock for this key removes the copy, and a caller that copies another key replaces it. Both read the clock afterwards,
// so that decisions on a key stay in the order of their instants.
//
// It is a sequence lock: if the version has changed during a read, the reader may have read parts of two states.
type hot struct {
	version atomic.Uint64
	scope   atomic.Pointer[scope] // nil while there is no copy
	hi, lo  atomic.Uint64
	state   [2]atomic.Uint64
	at      atomic.Int64 // instant when the copy was made
}

// hotEvery limits how often states are copied to hot. A denied caller copies its key's state only if the time in µs
// is a multiple of hotEvery. For a busy key, this soon happens. For other keys, copying costs almost nothing.
const hotEvery = 64

// deny decides like Words.Allow if the answer is a denial. If it is not, ok is false.
func (t *hot) deny(key hash, c *scope, limit *algo.Limit, now, cost int64, o *algo.Outcome) (ok bool) {
	version := t.version.Load()
	if t.scope.Load() != c || !t.of(key) {
		return false
	}
	state, at := algo.Words{t.state[0].Load(), t.state[1].Load()}, t.at.Load()
	if t.version.Load() != version || now < at {
		return false
	}
	allowed, ok := state.Allow(limit, now, cost, o)
	return ok && !allowed
}

func (t *hot) of(key hash) bool { return t.hi.Load() == key.hi && t.lo.Load() == key.lo }

// set copies a key's state into t.
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

// drop removes the copy of a key's state, and reports whether there was one.
func (t *hot) drop(key hash) bool {
	if t.scope.Load() == nil || !t.of(key) {
		return false
	}
	t.scope.Store(nil)
	return true
}
