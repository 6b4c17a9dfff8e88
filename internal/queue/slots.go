package queue

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"
)

// ErrEnded is the error for a wait whose owner has ended.
var ErrEnded = errors.New("queue: ended")

// Slots holds callers that wait for the slots of their reservations. The reserved units of callers with the same name
// are interchangeable. Units are therefore not bound to callers, and the first caller gets the first units. When a
// caller leaves, the callers after it move up, and the last reservations are given back instead of the leaving
// caller's: those that have no more units than have become free. The other free units, fewer than the last reservation
// has, are given back when further callers leave. A store cannot do this, because it has already returned the slots to
// the callers. The zero value is ready to use.
type Slots[N comparable, R any] struct {
	set     Set[N, schedule[R], int64]
	leaving Turns[N, departure[R]]
}

// Slot is a reservation: At is the instant when all of its units may be used.
type Slot[R any] struct {
	At    time.Time
	Units int64
	// Early is the time by which fewer units may be used earlier, for each unit. It can be 0.
	Early time.Duration
	// Late is the time by which the other units may be used later when some were used, for each of these. It is 0 if
	// they may be used at once.
	Late        time.Duration
	Reservation R
	// Used is the number of further units of the reservation that callers have used.
	Used int64
}

// SlotWaiter is a caller with a place in the order of slots. Its value is the number of units that it needs.
type SlotWaiter struct{ *Waiter[int64] }

// departure is a caller that has left its place and waits until its reservation is given back.
type departure[R any] struct {
	reservations []R
	done         chan struct{}
}

// Take adds a caller with its reservation. Slots are kept in order of time.
func (s *Slots[N, R]) Take(name N, own Slot[R]) (waiter SlotWaiter) {
	s.set.Do(name, func(q *Queue[schedule[R], int64]) {
		after := q.State.add(own)
		waiter.Waiter = q.insert(own.Units, min(after, q.Len()))
		q.State.needed += own.Units
	})
	return waiter
}

// Wait returns at the time of the caller's slot, with the reservation that the caller uses. If the context ends or the
// end channel is closed earlier, the caller leaves: see Leave.
func (s *Slots[N, R]) Wait(ctx context.Context, end <-chan struct{}, name N, waiter SlotWaiter, most int, giveBack func([]R)) (used R, err error) {
	if used, err = s.Until(ctx, end, name, waiter); err != nil {
		<-s.Leave(name, waiter, most, giveBack)
	}
	return used, err
}

// Until is like Wait, but after an error the caller keeps its place until it calls Drop or Leave.
func (s *Slots[N, R]) Until(ctx context.Context, end <-chan struct{}, name N, waiter SlotWaiter) (used R, err error) {
	timer := time.NewTimer(math.MaxInt64)
	defer timer.Stop()
	for {
		select {
		case <-waiter.Ready():
		case <-timer.C:
		case <-ctx.Done():
			return used, ctx.Err()
		case <-end:
			return used, ErrEnded
		}
		reservation, wait := s.pass(name, waiter)
		if wait <= 0 {
			return reservation, nil
		}
		timer.Reset(wait)
	}
}

// pass removes a caller whose slot has come. Otherwise it returns the time that the caller must wait. A caller that is
// not first is woken when it becomes first.
func (s *Slots[N, R]) pass(name N, waiter SlotWaiter) (used R, wait time.Duration) {
	s.set.Do(name, func(q *Queue[schedule[R], int64]) {
		if !q.First(waiter.Waiter) {
			wait = math.MaxInt64
			return
		}
		last, at := q.State.covering(waiter.Value)
		if wait = time.Until(at); wait <= 0 {
			used = q.State.use(last, waiter.Value)
			q.Leave(waiter.Waiter)
		}
	})
	return used, wait
}

// Drop removes callers that give up, and returns the last reservations, to be given back.
func (s *Slots[N, R]) Drop(name N, waiters ...SlotWaiter) (back []Slot[R]) {
	s.set.Do(name, func(q *Queue[schedule[R], int64]) { back = drop(q, waiters...) })
	return back
}

func drop[R any](q *Queue[schedule[R], int64], waiters ...SlotWaiter) []Slot[R] {
	for _, w := range waiters {
		if q.Leave(w.Waiter) {
			q.State.needed -= w.Value
		}
	}
	return q.State.surplus()
}

// Leave is like Drop for a caller that needs as many units as all others, but also gives the reservation back. done is
// closed when giveBack has returned. Only one call of giveBack runs at a time. It gives back a bounded number of
// reservations (the most argument), starting with the last slot, so that no unused slot remains before a used one.
func (s *Slots[N, R]) Leave(name N, waiter SlotWaiter, most int, giveBack func([]R)) (done <-chan struct{}) {
	s.set.Do(name, func(q *Queue[schedule[R], int64]) {
		gone := departure[R]{done: make(chan struct{})}
		for _, last := range drop(q, waiter) {
			gone.reservations = append(gone.reservations, last.Reservation)
		}
		done = gone.done
		// Join under the lock, so that departures are in the order of their slots.
		s.leaving.Join(name, gone, math.MaxInt, most, func(departures []departure[R]) { giveBackAll(departures, giveBack) })
	})
	return done
}

func giveBackAll[R any](departures []departure[R], giveBack func([]R)) {
	var reservations []R
	for _, l := range departures {
		reservations = append(reservations, l.reservations...)
	}
	giveBack(reservations)
	for _, l := range departures {
		close(l.done)
	}
}

// schedule lists the slots of callers in order of time.
type schedule[R any] struct {
	slots            []Slot[R]
	reserved, needed int64 // units of the slots, and of the callers
}

// add adds a slot, and returns the number of later slots.
func (s *schedule[R]) add(own Slot[R]) (after int) {
	place := len(s.slots)
	for place > 0 && own.At.Before(s.slots[place-1].At) {
		place--
	}
	s.slots = slices.Insert(s.slots, place, own)
	s.reserved += own.Units
	return len(s.slots) - 1 - place
}

// covering returns the last slot that the first caller needs for its units, and the instant when they may be used.
func (s *schedule[R]) covering(units int64) (last int, at time.Time) {
	for s.slots[last].Units < units {
		units -= s.slots[last].Units
		last++
	}
	first, own := &s.slots[0], &s.slots[last]
	at = own.At.Add(-time.Duration(own.Units-units) * own.Early)
	if late := first.At.Add(time.Duration(first.Used) * first.Late); first.Late > 0 && late.After(at) {
		at = late
	}
	return last, at
}

// use removes units from the first slots, up to the last one, and returns its reservation.
func (s *schedule[R]) use(last int, units int64) R {
	s.reserved, s.needed = s.reserved-units, s.needed-units
	for i := range last {
		units -= s.slots[i].Units
	}
	own := &s.slots[last]
	reservation := own.Reservation
	own.Units, own.Used = own.Units-units, own.Used+units
	if own.Units == 0 {
		last++
	}
	clear(s.slots[:last])
	s.slots = s.slots[last:]
	return reservation
}

// surplus removes the last slots, as long as the callers need none of their units.
func (s *schedule[R]) surplus() (back []Slot[R]) {
	for n := len(s.slots) - 1; n >= 0 && s.reserved-s.slots[n].Units >= s.needed; n-- {
		back = append(back, s.slots[n])
		s.reserved -= s.slots[n].Units
		s.slots = slices.Delete(s.slots, n, n+1)
	}
	return back
}
