package memstore

import (
	"slices"
	"sync"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// transaction is an operation that is being decided. Its shards are locked, and its states are in steps. Transactions
// are pooled, so that a decision does not allocate.
type transaction struct {
	store       *Store
	op          *engine.Op
	now         algo.Instant
	steps       []algo.Step
	places      []location
	settled     location            // for a settle: the location of the reservation's record
	returned    []location          // for a settle: per limit, the location of its record of returned units
	reservation *engine.Reservation // for a settle: the stored open reservation
	open        hash                // the lookup key of reservation
	locked      []int               // shard indices, ascending
	large       bool                // one of the states counts as several keys
	reserved    bool                // reserve was called: a place may have reserved room
}

// location is the location of a step's state.
type location struct {
	key   hash
	scope *scope // nil if the limit keeps no state
	shard int
	slot  int
	// reserved is true while room for the state is reserved in the scope's share.
	reserved bool
}

var transactions = sync.Pool{New: func() any { return new(transaction) }}

// free clears the caller's data and the states, and returns the transaction to the pool.
func (t *transaction) free() {
	clear(t.steps)
	clear(t.places)
	clear(t.returned)
	*t = transaction{steps: t.steps[:0], places: t.places[:0], returned: t.returned[:0], locked: t.locked[:0]}
	transactions.Put(t)
}

// expireBatch is the number of expired keys that an operation on a new key drops. It is more than the operation adds,
// so that a store in use shrinks to the keys that have not expired.
const expireBatch = 4

// begin locks the operation's shards, reads the clock and loads its states. It first reserves room for all states that
// the operation may create, because nothing may be charged unless all states can be stored. On an error, nothing is
// locked or reserved.
func (t *transaction) begin(s *Store, op *engine.Op) error {
	t.store, t.op = s, op
	t.locate()
	for {
		t.lock()
		t.now = s.clock.read(true)
		t.neverBack()
		absent := t.load()
		if !creates(op.Kind) || absent == 0 && !t.grows() {
			return nil
		}
		for _, i := range t.locked {
			s.expired.Add(s.shards[i].expire(&s.scopes, t.now, s.outdated(t.now.Now), expireBatch))
		}
		t.load() // again, because expire may have dropped one of the states
		if !t.grows() && t.reserve() {
			return nil
		}
		t.unlock()
		if !s.makeRoom(t.now) {
			return ErrFull
		}
	}
}

// grows reports whether the operation would add to the open reservations, or to a large state, of a namespace without
// room.
func (t *transaction) grows() bool {
	if t.op.Kind == engine.OpReserve && t.op.Term != nil && !t.store.openFits(t.op.Space) {
		return true
	}
	if !t.large || t.op.Kind == engine.OpSettle {
		return false
	}
	for i := range t.places {
		if p := &t.places[i]; p.slot != nowhere && t.store.shards[p.shard].large(p.slot) && p.scope.share.full() {
			return true
		}
	}
	return false
}

// lacking calls f with the location of each state and record that is not stored, until f returns false.
func (t *transaction) lacking(f func(p *location) bool) {
	for i := range t.places {
		if p := &t.places[i]; p.scope != nil && p.slot == nowhere && !f(p) {
			return
		}
	}
	for i := range t.returned {
		if p := &t.returned[i]; p.scope != nil && p.slot == nowhere && !f(p) {
			return
		}
	}
	if p := &t.settled; p.scope != nil && p.slot == nowhere {
		f(p)
	}
}

// reserve reserves room for absent states in the shares of their namespaces.
func (t *transaction) reserve() (fits bool) {
	fits, t.reserved = true, true
	t.lacking(func(p *location) bool {
		p.reserved = p.scope.share.reserve()
		fits = p.reserved
		return fits
	})
	if !fits {
		t.release()
	}
	return fits
}

// release returns unused reserved room to the shares.
func (t *transaction) release() {
	if !t.reserved {
		return
	}
	t.reserved = false
	t.lacking(func(p *location) bool {
		if p.reserved {
			p.reserved = false
			p.scope.share.add(-1)
		}
		return true
	})
}

// neverBack keeps each shard's time from going back. Only a custom clock may go back.
func (t *transaction) neverBack() {
	if t.store.clock.custom != nil {
		return
	}
	for _, i := range t.locked {
		t.now.Now = max(t.now.Now, t.store.shards[i].last)
	}
	for _, i := range t.locked {
		t.store.shards[i].last = t.now.Now
	}
}

func creates(k engine.Kind) bool {
	return k == engine.OpAllow || k == engine.OpAtMost || k == engine.OpAcquire || k == engine.OpCount ||
		k == engine.OpReserve || k == engine.OpSettle
}

func (t *transaction) locate() {
	for i := range t.op.Charges {
		c := &t.op.Charges[i]
		space, key := t.op.Subject(i)
		p, step := location{slot: nowhere}, t.op.Step(i)
		if !c.Limit.Algorithm().Constant() {
			p.scope = t.store.scopes.of(space, c.Limit)
		}
		p.key, step.KeyHash = t.store.counter(p.scope, c.Limit.Numbers(), key)
		p.shard = t.store.shard(p.key)
		// All limits of one key are in one shard, so most operations take one lock.
		t.places = append(t.places, p)
		t.steps = append(t.steps, step)
		if !slices.Contains(t.locked, p.shard) {
			t.locked = append(t.locked, p.shard)
		}
	}
	if t.op.Kind == engine.OpSettle && t.op.Reservation.Term == nil {
		t.locateSettled()
	}
	if t.op.Kind == engine.OpSettle && t.op.Stage != engine.Report {
		t.locateReturned()
	}
	slices.Sort(t.locked)
}

func (t *transaction) lock() {
	for _, i := range t.locked {
		t.store.shards[i].mu.Lock()
	}
	for i := range t.places {
		p := &t.places[i]
		t.store.shards[p.shard].hot.drop(p.key)
	}
}

func (t *transaction) unlock() {
	for _, i := range t.locked {
		t.store.shards[i].mu.Unlock()
	}
}

// load reads the steps' states and returns the number of absent ones.
func (t *transaction) load() (absent int64) {
	cs := &t.store.scopes
	t.large = false
	for i := range t.steps {
		p := &t.places[i]
		t.steps[i].State = algo.State{}
		if p.scope == nil {
			continue
		}
		if p.scope.stale.Load() {
			p.scope = cs.of(p.scope.space, p.scope.limit)
		}
		h := &t.store.shards[p.shard]
		if p.slot = h.find(cs, p.key, p.scope); p.slot != nowhere {
			t.steps[i].State = h.load(cs, p.slot)
			t.large = t.large || h.large(p.slot)
		} else {
			absent++
		}
	}
	if t.op.Kind == engine.OpSettle {
		absent += t.loadSettled() + t.loadReturned()
	}
	return absent
}

// run decides the operation and writes its result.
func (t *transaction) run(r *engine.Answer) {
	switch t.op.Kind {
	case engine.OpReset, engine.OpExpiry:
		t.lookUp(r)
		return
	case engine.OpRelease:
		r.Found = algo.Release(t.steps, t.now, t.op.ID)
		r.Fill(t.op, t.steps, true, 0, t.now.Now)
		return
	case engine.OpSettle:
		t.settle(r)
		return
	}
	allowed, granted := t.op.Decide(t.steps, t.now)
	r.Fill(t.op, t.steps, allowed, granted, t.now.Now)
}

// lookUp handles the operations that need no algorithm: expiry and reset. Its result contains whether there is a state,
// and how long it lasts. For a reset, it marks the state for deletion.
func (t *transaction) lookUp(r *engine.Answer) {
	for i := range t.places {
		p := &t.places[i]
		if p.slot == nowhere {
			continue
		}
		if left := t.store.shards[p.shard].expires(&t.store.scopes, p.slot, t.now) - t.now.Now; left > 0 {
			r.Found = true
			r.TTL = max(r.TTL, engine.Micros(left))
		}
		if t.op.Kind == engine.OpReset {
			t.steps[i].Write, t.steps[i].TTL = true, 0
		}
	}
	if t.op.Kind == engine.OpReset {
		r.TTL = 0
	}
}

// end stores the written states and unlocks the shards. Existing states come first, because storing a new state can
// move others.
func (t *transaction) end(r *engine.Answer) {
	for i := range t.steps {
		step, p := &t.steps[i], &t.places[i]
		h := &t.store.shards[p.shard]
		switch {
		case !step.Write || p.slot == nowhere:
		case step.TTL > 0:
			h.put(&t.store.scopes, p.slot, p.scope, &step.State, t.now.Now+step.TTL)
		default:
			h.remove(&t.store.scopes, p.slot)
			h.publish()
		}
	}
	if t.op.Kind == engine.OpSettle {
		t.storeReturned(false)
	}
	for i := range t.steps {
		step, p := &t.steps[i], &t.places[i]
		if step.Write && step.TTL > 0 && p.slot == nowhere && p.scope != nil {
			t.store.shards[p.shard].insert(t.store, p.key, p.scope, &step.State, t.now, t.now.Now+step.TTL)
			p.reserved = false
		}
	}
	switch {
	case t.op.Kind == engine.OpSettle:
		t.storeSettled(r)
		t.storeReturned(true)
	case t.op.Term != nil:
		t.keep(r)
	}
	t.release()
	t.unlock()
}
