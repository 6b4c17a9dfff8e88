package memstore

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/algo"
)

// transaction is one operation while it is decided: its shards locked, its
// states loaded into steps. It is reused, so that a decision allocates nothing.
type transaction struct {
	store    *Store
	op       *headgate.Op
	now      algo.Instant
	steps    []algo.Step
	places   []place
	locked   []int // shard indices, ascending
	reserved int64
}

// place is where a step's state is kept.
type place struct {
	id    id
	shard int
	entry *entry
}

var transactions = sync.Pool{New: func() any { return new(transaction) }}

// free lets go of what the caller passed in and of the states.
func (t *transaction) free() {
	clear(t.steps)
	clear(t.places)
	*t = transaction{steps: t.steps[:0], places: t.places[:0], locked: t.locked[:0]}
	transactions.Put(t)
}

// expireBatch is how many expired keys an operation on a new key drops on its
// way: more than it adds, so that a store in use shrinks to what counts.
const expireBatch = 4

// begin locks the operation's shards, reads the clock and loads its states.
// Room for states that may come to be is reserved first, because nothing may
// be charged that cannot all be kept.
func (t *transaction) begin(s *Store, op *headgate.Op) error {
	t.store, t.op = s, op
	t.locate()
	for {
		t.lock()
		t.now = s.clock.read(t.byWall())
		if absent := t.load(); absent == 0 || !creates(op.Kind) {
			return nil
		}
		for _, i := range t.locked {
			s.dropped(s.shards[i].expire(t.now.Now, expireBatch))
		}
		absent := t.load() // again: one of them may have been dropped
		if s.reserve(absent) {
			t.reserved = absent
			return nil
		}
		t.unlock()
		if !s.makeRoom(t.now.Now) {
			return ErrFull
		}
	}
}

func creates(k headgate.Kind) bool {
	return k == headgate.OpTake || k == headgate.OpAtMost || k == headgate.OpAcquire
}

func (t *transaction) locate() {
	for i := range t.op.Charges {
		c := &t.op.Charges[i]
		space, key := t.op.Subject(i)
		// All limits of one subject are in one shard: most operations take
		// one lock.
		at := int(maphash.String(t.store.seed, key) & t.store.mask)
		t.places = append(t.places, place{
			id:    id{space: space, key: key, name: c.Limit.Name(), algorithm: c.Limit.Algorithm()},
			shard: at,
		})
		t.steps = append(t.steps, algo.Step{Limit: c.Limit.Numbers(), Cost: c.Cost, Taken: taken(t.op)})
		if !slices.Contains(t.locked, at) {
			t.locked = append(t.locked, at)
		}
	}
	slices.Sort(t.locked)
}

func (t *transaction) lock() {
	for _, i := range t.locked {
		t.store.shards[i].mu.Lock()
	}
}

func (t *transaction) unlock() {
	for _, i := range t.locked {
		t.store.shards[i].mu.Unlock()
	}
}

func (t *transaction) byWall() bool {
	for i := range t.steps {
		if t.steps[i].Limit.Align != algo.AlignFirst {
			return true
		}
	}
	return false
}

// load reads the steps' states and returns how many are absent.
func (t *transaction) load() (absent int64) {
	for i := range t.steps {
		p := &t.places[i]
		t.steps[i].State = algo.State{}
		p.entry = t.store.shards[p.shard].entries[p.id]
		if p.entry != nil {
			t.steps[i].State = p.entry.state
		} else if a := p.id.algorithm; a != algo.DenyAll && a != algo.Unlimited {
			absent++
		}
	}
	return absent
}

// run decides and answers.
func (t *transaction) run(r *headgate.Result) {
	allowed, granted := true, int64(0)
	switch t.op.Kind {
	case headgate.OpTake:
		if allowed = algo.Take(t.steps, t.now); allowed {
			granted = charged(t.op)
		}
	case headgate.OpAtMost:
		granted = algo.AtMost(t.steps, t.now)
		allowed = granted > 0 || charged(t.op) == 0
	case headgate.OpPeek:
		allowed = algo.Peek(t.steps, t.now)
	case headgate.OpGive:
		algo.Give(t.steps, t.now)
	case headgate.OpAcquire:
		if allowed = algo.Acquire(t.steps, t.now, t.op.ID); allowed {
			granted = charged(t.op)
		}
	case headgate.OpRenew:
		allowed = algo.Renew(t.steps, t.now, t.op.ID)
	case headgate.OpRelease:
		r.Found = algo.Release(t.steps, t.now, t.op.ID)
	case headgate.OpReset, headgate.OpExpiry:
		t.lookUp(r)
		return
	}
	r.Decision.Fill(t.op, t.steps, allowed, time.UnixMicro(t.now.Now))
	r.Decision.Granted = granted
}

// taken is the instant of the charge that an operation gives back.
func taken(op *headgate.Op) int64 {
	if op.Taken.IsZero() {
		return 0
	}
	return op.Taken.UnixMicro()
}

// charged returns the units that an operation asks for: its largest cost.
func charged(op *headgate.Op) (units int64) {
	for i := range op.Charges {
		units = max(units, op.Charges[i].Cost)
	}
	return units
}

// lookUp answers what needs no algorithm: is there a state, and until when; and
// forgets it if asked.
func (t *transaction) lookUp(r *headgate.Result) {
	for i := range t.places {
		e := t.places[i].entry
		if e == nil {
			continue
		}
		if left := e.expires - t.now.Now; left > 0 {
			r.Found = true
			r.TTL = max(r.TTL, time.Duration(left)*time.Microsecond)
		}
		if t.op.Kind == headgate.OpReset {
			t.steps[i].Write, t.steps[i].TTL = true, 0
		}
	}
	if t.op.Kind == headgate.OpReset {
		r.TTL = 0
	}
}

// end stores what was written and unlocks.
func (t *transaction) end() {
	added := int64(0)
	for i := range t.steps {
		step, p := &t.steps[i], &t.places[i]
		h := &t.store.shards[p.shard]
		switch {
		case !step.Write:
		case step.TTL <= 0 && p.entry != nil:
			h.remove(p.entry)
			added--
		case step.TTL <= 0:
		case p.entry != nil:
			h.put(p.entry, step.State, t.now.Now+step.TTL)
		default:
			h.insert(p.id, step.State, t.now.Now+step.TTL)
			added++
		}
	}
	if change := added - t.reserved; change != 0 {
		t.store.keys.Add(change)
	}
	t.unlock()
}
