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

// Slots holds callers that wait for the slots of their reservations. Callers with the same name are interchangeable:
// each can use another's reservation. Reservations are therefore not bound to callers, and the first caller gets the
// first slot. When a caller leaves, the callers after it move up, and the last slot is given back instead of the
// leaving caller's. A store cannot do this, because it has already returned the slots to the callers. The zero value is
// ready to use.
type Slots[N comparable, R any] struct {
	set     Set[N, []slot[R], struct{}]
	leaving Turns[N, departure[R]]
}

type slot[R any] struct {
	at          time.Time
	reservation R
}

// SlotWaiter is a caller with a slot.
type SlotWaiter struct{ *Waiter[struct{}] }

// departure is a caller that has left its place and waits until its reservation is given back.
type departure[R any] struct {
	reservation R
	done        chan struct{}
}

// Take adds a caller with its reservation. Slots are kept in order of time.
func (s *Slots[N, R]) Take(name N, at time.Time, reservation R) (waiter SlotWaiter) {
	s.set.Do(name, func(q *Queue[[]slot[R], struct{}]) {
		place := len(q.State)
		for place > 0 && at.Before(q.State[place-1].at) {
			place--
		}
		waiter.Waiter = q.insert(struct{}{}, len(q.State)-place)
		q.State = slices.Insert(q.State, place, slot[R]{at, reservation})
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
	s.set.Do(name, func(q *Queue[[]slot[R], struct{}]) {
		if !q.First(waiter.Waiter) {
			wait = math.MaxInt64
			return
		}
		if wait = time.Until(q.State[0].at); wait <= 0 {
			used = q.State[0].reservation
			clear(q.State[:1])
			q.State = q.State[1:]
			q.Leave(waiter.Waiter)
		}
	})
	return used, wait
}

// Drop removes a caller that gives up, and returns the last slot's reservation, to be given back.
func (s *Slots[N, R]) Drop(name N, waiter SlotWaiter) (last R) {
	s.set.Do(name, func(q *Queue[[]slot[R], struct{}]) { last = drop(q, waiter) })
	return last
}

func drop[R any](q *Queue[[]slot[R], struct{}], waiter SlotWaiter) (reservation R) {
	last := len(q.State) - 1
	reservation = q.State[last].reservation
	q.State = slices.Delete(q.State, last, last+1)
	q.Leave(waiter.Waiter)
	return reservation
}

// Leave is like Drop, but also gives the reservation back. done is closed when giveBack has returned. Only one call of
// giveBack runs at a time. It gives back a bounded number of reservations (the most argument), starting with the last
// slot, so that no unused slot remains before a used one.
func (s *Slots[N, R]) Leave(name N, waiter SlotWaiter, most int, giveBack func([]R)) (done <-chan struct{}) {
	s.set.Do(name, func(q *Queue[[]slot[R], struct{}]) {
		gone := departure[R]{drop(q, waiter), make(chan struct{})}
		done = gone.done
		// Join under the lock, so that departures are in the order of their slots.
		s.leaving.Join(name, gone, math.MaxInt, most, func(departures []departure[R]) { giveBackAll(departures, giveBack) })
	})
	return done
}

func giveBackAll[R any](departures []departure[R], giveBack func([]R)) {
	reservations := make([]R, len(departures))
	for i, l := range departures {
		reservations[i] = l.reservation
	}
	giveBack(reservations)
	for _, l := range departures {
		close(l.done)
	}
}
