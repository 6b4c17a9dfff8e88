package memstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/headgate/headgate/engine"
)

var _ engine.Keeper = (*Store)(nil)

// opens contains the open reservations. Its lock is taken while shard locks are held.
type opens struct {
	mu sync.Mutex
	of map[hash]openOf
	// earliest is a lower bound on the end of every term.
	earliest int64
	// overdue are those that the last pass over all found overdue and that have not been returned since, earliest first.
	overdue []overdue
}

// overdue is a reservation whose term ended at the instant due.
type overdue struct {
	due  int64
	name hash
}

// openOf is an open reservation, and the share of its namespace. It counts there as a key for each keyBytes: a
// reservation of many charges with long keys has up to 47 KB.
type openOf struct {
	encodedReservation

	share *share
}

const openOverhead = 64 // what the map needs for each reservation, in bytes

func (o openOf) keys() int64 { return int64(1 + (len(o.encodedReservation)+openOverhead)/keyBytes) }

// encodedReservation is an open reservation, encoded as a string to save memory if there are a million of them. It
// consists of the end of the reservation's term (8 bytes), the encoded reservation, and the units reported for each of its limits.
type encodedReservation string

const keptHead = 8

func (o encodedReservation) due() int64 { return int64(binary.BigEndian.Uint64([]byte(o[:keptHead]))) }

// openName returns the lookup key of an open reservation.
func (s *Store) openName(op *engine.Op) hash {
	return s.secret.hash(op.Space + "\x00" + reservationName(op))
}

// keep stores the reservation that a reserve operation with a term has made.
func (t *transaction) keep(r *engine.Answer) {
	if r.Allowed {
		t.store.opens.put(t.store.openName(t.op), r.Reservation(t.op, t.op.ID), t.store.room.of(t.op.Space))
	}
}

// findOpen fills the steps of a settlement from the open reservation. It returns false if there is no open
// reservation, or if the settlement's stage does not match.
func (t *transaction) findOpen() bool {
	t.open = t.store.openName(t.op)
	o, ok := t.store.opens.get(t.open)
	if !ok || (t.now.Now >= o.due()) != (t.op.Stage == engine.Overdue) {
		return false
	}
	if t.reservation = o.reservation(); t.reservation == nil || len(t.reservation.Limits) != len(t.steps) {
		return false
	}
	for i := range t.steps {
		held := &t.reservation.Limits[i].Held
		if t.steps[i].Held = held; t.op.Stage == engine.Undone {
			held.Slot = max(held.Slot, held.Ends)
		}
	}
	return true
}

// settledOpen ends an open reservation. For a report, it stores the reservation for another term.
func (t *transaction) settledOpen() {
	if t.op.Stage != engine.Report {
		t.store.opens.remove(t.open)
		return
	}
	t.reservation.Due = t.now.Now + t.reservation.Term.Within.Microseconds()
	t.store.opens.put(t.open, t.reservation, t.store.room.of(t.op.Space))
}

// reservation decodes an open reservation. It returns nil if the bytes are invalid.
func (o encodedReservation) reservation() *engine.Reservation {
	if len(o) < keptHead {
		return nil
	}
	rest := []byte(o[keptHead:])
	r, length := engine.ReservationAt(rest, "")
	if r == nil || r.Term == nil {
		return nil
	}
	r.Due, r.Ends, rest = o.due(), o.due(), rest[length:]
	for i := range r.Limits {
		units, length := binary.Uvarint(rest)
		if length <= 0 {
			return nil
		}
		r.Limits[i].Reported, rest = int64(units), rest[length:]
	}
	return r
}

func (o *opens) put(name hash, r *engine.Reservation, in *share) {
	head := binary.BigEndian.AppendUint64(nil, uint64(r.Due))
	small := *r
	small.Due, small.Ends = 0, 0 // stored in the head
	b := small.AppendTo(head)
	for i := range r.Limits {
		b = binary.AppendUvarint(b, uint64(r.Limits[i].Reported))
	}
	o.add(name, openOf{encodedReservation(b), in})
}

func (o *opens) add(name hash, k openOf) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == nil {
		o.of, o.earliest = map[hash]openOf{}, math.MaxInt64
	}
	o.drop(name)
	k.share.add(k.keys())
	o.of[name] = k
	o.earliest = min(o.earliest, k.due())
}

func (o *opens) get(name hash) (one encodedReservation, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	of, ok := o.of[name]
	return of.encodedReservation, ok
}

func (o *opens) remove(name hash) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drop(name)
}

// drop removes a reservation, if there is one with this name. The caller holds the lock.
func (o *opens) drop(name hash) {
	if before, ok := o.of[name]; ok {
		before.share.add(-before.keys())
		delete(o.of, name)
	}
}

// openFits reports whether there is room for one more open reservation of a namespace.
func (s *Store) openFits(space string) bool {
	return s.opens.len() < engine.MaxOpen && !s.room.of(space).full()
}

// names returns the names of all open reservations.
func (o *opens) names() []hash {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.of))
}

func (o *opens) len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.of)
}

// until returns up to most of the open reservations whose terms end by the given instant. One pass over all finds those of
// many calls, because nobody else can use the reservations during a pass (regression: bug 278).
func (o *opens) until(instant int64, most int) (some []encodedReservation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if some = o.found(instant, most); len(some) > 0 || o.of == nil || o.earliest > instant {
		return some
	}
	o.earliest = math.MaxInt64
	for name, one := range o.of {
		due := one.due()
		if o.earliest = min(o.earliest, due); due <= instant {
			o.overdue = append(o.overdue, overdue{due, name})
		}
	}
	slices.SortFunc(o.overdue, func(a, b overdue) int { return cmp.Compare(a.due, b.due) })
	return o.found(instant, most)
}

// found removes up to most reservations from the list of those that are overdue, and returns those that still are.
func (o *opens) found(instant int64, most int) (some []encodedReservation) {
	for len(o.overdue) > 0 && len(some) < most {
		one, open := o.of[o.overdue[0].name]
		if o.overdue = o.overdue[1:]; open && one.due() <= instant {
			some = append(some, one.encodedReservation)
		}
	}
	if len(o.overdue) == 0 {
		o.overdue = nil
	}
	return some
}

// all returns the open reservations, those whose terms end first in front.
func (o *opens) all() (all []encodedReservation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, one := range o.of {
		all = append(all, one.encodedReservation)
	}
	slices.SortFunc(all, func(a, b encodedReservation) int { return cmp.Compare(a.due(), b.due()) })
	return all
}

// Due returns the overdue reservations. See [engine.Keeper].
func (s *Store) Due(ctx context.Context) (due []*engine.Reservation, err error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	for _, o := range s.opens.until(s.clock.read(false).Now, engine.MaxDue) {
		due = append(due, o.reservation())
	}
	return due, nil
}

// OpenOf returns the open reservations that charged a key. See [engine.Keeper].
func (s *Store) OpenOf(ctx context.Context, key string, most int, _ ...string) (of []*engine.Reservation, err error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	for _, o := range s.opens.all() {
		if len(of) >= most {
			break
		}
		if r := o.reservation(); r.Charged(key) {
			of = append(of, r)
		}
	}
	return of, nil
}

// OpenCount returns the number of open reservations. See [engine.Keeper].
func (s *Store) OpenCount(ctx context.Context) (int64, error) {
	return int64(s.opens.len()), s.ready(ctx)
}
