package prefetch

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"github.com/headgate/headgate/engine"
)

// id is a key and a counter. All versions of a limit on a key share one counter, and therefore one set of prefetched
// units.
type id struct {
	space, key string
	counter    unique.Handle[engine.Counter]
}

// shards is the number of shards of a table.
const shards = 64

// table contains the known keys, at most room in each shard.
type table struct {
	seed   maphash.Seed
	room   int
	shards [shards]shard
}

// shard is a part of a table. Its lock guards the fields, but for recent.
type shard struct {
	sync.Mutex
	known map[id]*record
	// recent is the hold that was last spent from under the lock. Its units are spent without the lock until they are
	// taken away, for example because the limit is not prefetched any more.
	recent atomic.Pointer[hold]
	spent  int64 // units of holds that have ended
}

func newTable(maxKeys int) *table {
	t := &table{seed: maphash.MakeSeed(), room: maxKeys / shards}
	for i := range t.shards {
		t.shards[i].known = map[id]*record{}
	}
	return t
}

func (t *table) of(key string) *shard { return &t.shards[maphash.String(t.seed, key)%shards] }

// spent returns the number of units that have been spent.
func (t *table) spent() (units int64) {
	for i := range t.shards {
		h := &t.shards[i]
		h.Lock()
		units += h.spent
		for _, r := range h.known {
			units += r.hold.spent()
		}
		h.Unlock()
	}
	return units
}

// record describes one key: how hot it is, and its held units. The shard's lock guards the record.
type record struct {
	shard    *shard
	name     id
	limit    engine.Limit // the version of the limit for the counted requests and the held units
	asked    int
	since    time.Time     // start of the time for which asked counts requests
	hold     *hold         // nil until units were taken
	inFlight chan struct{} // closed when the units being taken have arrived
	reset    bool          // set by a reset while units were in flight; these units must not be spent
	// returning is set while units are being returned.
	returning bool
}

// found describes a caller's next step. If spent is set, the operation is answered. If ours is set, the caller
// prefetches units and finishes the record. If inFlight is set, it waits on this channel. If none of them is set, it
// forwards its operation. The gives field contains units held for another version of the limit, which must be returned
// first.
type found struct {
	gives    []pendingGive
	spent    *hold // from which units were spent
	left     int64 // in it
	inFlight <-chan struct{}
	ours     *record
}

// look spends held units of an operation's key, and writes the answer to the outcome. Otherwise it counts a request for
// one unit, because a key with many such requests is hot.
func (s *Store) look(op *engine.Op, o *engine.Answer) (f found) {
	now := s.member.Now() // one reading of the monotonic clock; time.Now also reads the wall clock
	charge := &op.Charges[0]
	space, key := op.Subject(0)
	h := s.table.of(key)
	if held := h.recent.Load(); held != nil && held.of(space, key, charge.Limit) {
		if left, ok := held.spend(charge.Cost, now); ok {
			f = found{spent: held, left: left}
		}
	}
	if f.spent == nil {
		f = s.lookAt(h, space, key, charge, now)
	}
	if f.spent != nil {
		f.spent.answer(charge.Cost, f.left, now, o)
	}
	return f
}

// lookAt is look with the shard's lock and without the answer.
func (s *Store) lookAt(h *shard, space, key string, charge *engine.Charge, now time.Time) found {
	limit, life := charge.Limit, s.config.Life
	h.Lock()
	defer h.Unlock()
	// This read needs the lock, because SetSpaces examines the records after it has changed the limits.
	limits := s.leased.Load()
	r := s.table.find(h, limits, space, key, limit, now, life)
	if r == nil {
		return found{}
	}
	if r.limit != limit {
		return r.change(limit, now)
	}
	if left, ok := r.hold.spend(charge.Cost, now); ok {
		h.recent.Store(r.hold)
		return found{spent: r.hold, left: left}
	}
	if charge.Cost > 1 {
		return found{} // only a request for one unit prefetches others
	}
	if r.inFlight != nil {
		return found{inFlight: r.inFlight}
	}
	if r.hold.left() > 0 || r.returning {
		return found{} // the held units are dead or too few and not returned yet, and a key may have only one set
	}
	if now.Sub(r.since) >= life {
		r.asked, r.since = 0, now
	}
	if r.asked++; r.asked > s.config.HotAfter {
		r.inFlight = make(chan struct{})
		return found{ours: r}
	}
	return found{}
}

// find finds the record of a key under a limit, or adds it. It returns nil if the limit is not prefetched, or if there
// is no room.
func (t *table) find(h *shard, limits *leased, space, key string, limit engine.Limit, now time.Time, life time.Duration) *record {
	counter, leased := limits.counter(limit, space)
	if !leased {
		return nil
	}
	name := id{space: space, key: key, counter: counter}
	r := h.known[name]
	if r == nil {
		r = t.add(h, name, limit, now, life)
	}
	return r
}

// change switches to another version of the limit and marks the key as cold. Units held for the previous version must
// be returned first.
func (r *record) change(limit engine.Limit, now time.Time) (f found) {
	if r.inFlight != nil || r.returning {
		return found{} // every request goes to the store until then
	}
	if r.hold.left() > 0 {
		f.gives = []pendingGive{r.giveBack()}
	}
	r.limit, r.asked, r.since = limit, 0, now
	return f
}

// giveBack removes the held units, and returns the give that will return them to the store by their handle.
func (r *record) giveBack() pendingGive {
	op := engine.Single(engine.OpGive, r.name.key, r.limit, r.hold.end())
	op.Space, op.Handle = r.name.space, r.hold.taken
	r.returning = true
	return pendingGive{op: op, record: r}
}

// returned ends the return of a record's units, whether it succeeded or the units are lost.
func (r *record) returned() {
	r.shard.Lock()
	defer r.shard.Unlock()
	r.returning = false
}

// finish ends the prefetch for a record, stores the units that it took, if any, and wakes the callers that wait for
// them. held is nil if it took none.
func (r *record) finish(held *hold) {
	r.shard.Lock()
	defer r.shard.Unlock()
	if r.reset {
		held = nil
	}
	r.shard.spent += r.hold.spent()
	r.hold = held
	if r.hold.left() == 0 {
		// No units could be taken in advance. Other requests go to the store too, without waiting for each other.
		r.asked, r.since = 0, time.Now()
	}
	close(r.inFlight)
	r.inFlight, r.reset = nil, false
}

// add adds a record. If the shard is full, it first drops some cold ones.
func (t *table) add(h *shard, name id, limit engine.Limit, now time.Time, life time.Duration) *record {
	if len(h.known) >= t.room {
		h.dropCold(now, life)
	}
	if len(h.known) >= t.room {
		return nil
	}
	name.space, name.key = strings.Clone(name.space), strings.Clone(name.key)
	r := &record{shard: h, name: name, limit: limit, since: now}
	h.known[name] = r
	return r
}

// dropCold drops the cold ones among a few records. These are random, because iteration over a Go map starts at a random
// entry.
func (h *shard) dropCold(now time.Time, life time.Duration) {
	looks := 8
	for name, r := range h.known {
		if r.hold.left() == 0 && r.inFlight == nil && !r.returning && now.Sub(r.since) >= life {
			h.spent += r.hold.spent()
			delete(h.known, name)
		}
		if looks--; looks == 0 {
			return
		}
	}
}

// forget drops the held units of the keys that an operation resets, including units in flight.
func (t *table) forget(op *engine.Op) {
	for i := range op.Charges {
		space, key := op.Subject(i)
		name := id{space: space, key: key, counter: counterOf(op.Charges[i].Limit)}
		h := t.of(key)
		h.Lock()
		if r := h.known[name]; r != nil {
			r.hold.end()
			r.reset = r.inFlight != nil
		}
		h.Unlock()
	}
}
