package prefetch

import (
	"strings"
	"time"
	"unique"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/internal/keymap"
)

// id is a key and a counter. All versions of a limit on a key share one counter, and therefore one set of prefetched
// units.
type id struct {
	space, key string
	counter    unique.Handle[engine.Counter]
}

// table contains the known keys.
type table struct{ *keymap.Map[id, *record] }

type shard = keymap.Shard[id, *record]

// record describes one key: how hot it is, and its held units. The shard's lock guards the record.
type record struct {
	shard    *shard
	name     id
	in       *leased      // the prefetched limits with which the record was found
	limit    engine.Limit // the version of the limit for the counted requests and the held units
	asked    int
	since    time.Time // start of the time for which asked counts requests
	hold     hold
	inFlight chan struct{} // closed when the units being taken have arrived
	reset    bool          // set by a reset while units were in flight; these units must not be spent
	// returning is set while units are being returned.
	returning bool
}

// found describes a caller's next step. If spent has an outcome, the operation is answered. If ours is set, the caller
// prefetches units and finishes the record. If inFlight is set, it waits on this channel. If none of them is set, it
// forwards its operation. The gives field contains units held for another version of the limit, which must be returned
// first.
type found struct {
	gives    []pendingGive
	spent    spent
	inFlight <-chan struct{}
	ours     *record
}

// look finds the record of an operation's key. If it can spend held units, it writes the answer to the outcome, once other
// callers of the key can go on. Otherwise it counts a request for one unit, because a key with many such requests is hot.
func (s *Store) look(op *engine.Op, o *engine.Answer) (f found) {
	now := s.member.Now() // one reading of the monotonic clock; time.Now also reads the wall clock
	if f = s.lookAt(op, now); f.spent.outcome != nil {
		f.spent.answer(op.Charges[0].Cost, now, o)
	}
	return f
}

// lookAt is look without the answer.
func (s *Store) lookAt(op *engine.Op, now time.Time) (f found) {
	space, key := op.Subject(0)
	limit, life := op.Charges[0].Limit, s.config.Life
	h := s.table.Of(key)
	h.Lock()
	defer h.Unlock()
	// This read needs the lock, because SetSpaces examines the records after it has changed the limits.
	limits := s.leased.Load()
	r := h.Recent
	if r == nil || r.in != limits || r.limit != limit || r.name.key != key || r.name.space != space {
		if r = find(h, limits, space, key, limit, now, life); r == nil {
			return found{}
		}
	}
	if r.limit != limit {
		return r.change(limit, now)
	}
	if f.spent = r.hold.spend(op.Charges[0].Cost, now); f.spent.outcome != nil {
		h.Count += op.Charges[0].Cost
		return f
	}
	if op.Charges[0].Cost > 1 {
		return found{} // only a request for one unit prefetches others
	}
	if r.inFlight != nil {
		return found{inFlight: r.inFlight}
	}
	if r.hold.units > 0 || r.returning {
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
func find(h *shard, limits *leased, space, key string, limit engine.Limit, now time.Time, life time.Duration) *record {
	counter, leased := limits.counter(limit, space)
	if !leased {
		return nil
	}
	name := id{space: space, key: key, counter: counter}
	r := h.Known[name]
	if r == nil {
		if r = add(h, name, limit, now, life); r == nil {
			return nil
		}
	}
	r.in, h.Recent = limits, r
	return r
}

// change switches to another version of the limit and marks the key as cold. Units held for the previous version must
// be returned first.
func (r *record) change(limit engine.Limit, now time.Time) (f found) {
	if r.inFlight != nil || r.returning {
		return found{} // every request goes to the store until then
	}
	if r.hold.units > 0 {
		f.gives = []pendingGive{r.giveBack()}
	}
	r.limit, r.asked, r.since = limit, 0, now
	return f
}

// giveBack removes the held units, and returns the give that will return them to the store by their handle.
func (r *record) giveBack() pendingGive {
	op := engine.Single(engine.OpGive, r.name.key, r.limit, r.hold.units)
	op.Space, op.Handle = r.name.space, r.hold.taken
	r.hold.units, r.returning = 0, true
	return pendingGive{op: op, record: r}
}

// returned ends the return of a record's units, whether it succeeded or the units are lost.
func (r *record) returned() {
	r.shard.Lock()
	defer r.shard.Unlock()
	r.returning = false
}

// finish ends the prefetch for a record, stores the units that it took, if any, and wakes the callers that wait for
// them.
func (r *record) finish(held hold) {
	r.shard.Lock()
	defer r.shard.Unlock()
	if r.hold = held; r.reset {
		r.hold = hold{}
	}
	if r.hold.units == 0 {
		// No units could be taken in advance. Other requests go to the store too, without waiting for each other.
		r.asked, r.since = 0, time.Now()
	}
	close(r.inFlight)
	r.inFlight, r.reset = nil, false
}

// add adds a record. If the shard is full, it first drops some cold ones.
func add(h *shard, name id, limit engine.Limit, now time.Time, life time.Duration) *record {
	if !h.HasRoom(func(r *record) bool {
		return r.hold.units == 0 && r.inFlight == nil && !r.returning && now.Sub(r.since) >= life
	}) {
		return nil
	}
	name.space, name.key = strings.Clone(name.space), strings.Clone(name.key)
	r := &record{shard: h, name: name, limit: limit, since: now}
	h.Known[name] = r
	return r
}

// forget drops the held units of the keys that an operation resets, including units in flight.
func (t table) forget(op *engine.Op) {
	for i := range op.Charges {
		space, key := op.Subject(i)
		name := id{space: space, key: key, counter: counterOf(op.Charges[i].Limit)}
		h := t.Of(key)
		h.Lock()
		if r := h.Known[name]; r != nil {
			r.hold.units, r.reset = 0, r.inFlight != nil
		}
		h.Unlock()
	}
}
