package queue

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"
)

// ErrEnded is the error of a wait whose owner has ended.
var ErrEnded = errors.New("queue: ended")

// Slots holds callers that wait until the slots of their reservations. The callers of one name are interchangeable:
// each can use the reservation of another. So reservations are not bound to callers: the first caller has the first
// slot. When a caller leaves, the callers after it move up, and the last slot is given back instead of the leaving
// caller's. A store cannot do that, because it has already told the callers their slots. The zero value is ready to
// use.
type Slots[N comparable, R any] struct {
	set     Set[N, []slot[R], struct{}]
	leaving Turns[N, leaver[R]]
}

type slot[R any] struct {
	at          time.Time
	reservation R
}

// Seat is a caller with a slot.
type Seat struct{ *Waiter[struct{}] }

// leaver is a caller that waits until a reservation is given back.
type leaver[R any] struct {
	reservation R
	done        chan struct{}
}

// Take adds a caller with its reservation, in the order of slots.
func (s *Slots[N, R]) Take(name N, at time.Time, reservation R) (seat Seat) {
	s.set.Do(name, func(q *Queue[[]slot[R], struct{}]) {
		place := len(q.State)
		for place > 0 && at.Before(q.State[place-1].at) {
			place--
		}
		seat.Waiter = q.insert(struct{}{}, len(q.State)-place)
		q.State = slices.Insert(q.State, place, slot[R]{at, reservation})
	})
	return seat
}

// Wait returns at the caller's slot, with the reservation that it uses. If the context or end is done earlier, the
// caller leaves: see Leave.
func (s *Slots[N, R]) Wait(ctx context.Context, end <-chan struct{}, name N, seat Seat, most int, giveBack func([]R)) (used R, err error) {
	timer := time.NewTimer(math.MaxInt64)
	defer timer.Stop()
	for err == nil {
		select {
		case <-seat.Ready():
		case <-timer.C:
		case <-ctx.Done():
			err = ctx.Err()
			continue
		case <-end:
			err = ErrEnded
			continue
		}
		reservation, wait := s.pass(name, seat)
		if wait <= 0 {
			return reservation, nil
		}
		timer.Reset(wait)
	}
	<-s.Leave(name, seat, most, giveBack)
	return used, err
}

// pass removes a caller whose slot has come, and otherwise returns how long it must wait. A caller that is not first
// is woken when it becomes first.
func (s *Slots[N, R]) pass(name N, seat Seat) (used R, wait time.Duration) {
	s.set.Do(name, func(q *Queue[[]slot[R], struct{}]) {
		if !q.First(seat.Waiter) {
			wait = math.MaxInt64
			return
		}
		if wait = time.Until(q.State[0].at); wait <= 0 {
			used = q.State[0].reservation
			clear(q.State[:1])
			q.State = q.State[1:]
			q.Leave(seat.Waiter)
		}
	})
	return used, wait
}

// Leave removes a caller that gives up, and gives the last slot back. done is closed when giveBack has returned. One
// call at a time gives back up to most reservations, the last slot first, so that no unused slot remains before a
// used one.
func (s *Slots[N, R]) Leave(name N, seat Seat, most int, giveBack func([]R)) (done <-chan struct{}) {
	s.set.Do(name, func(q *Queue[[]slot[R], struct{}]) {
		last := len(q.State) - 1
		gone := leaver[R]{q.State[last].reservation, make(chan struct{})}
		q.State = slices.Delete(q.State, last, last+1)
		q.Leave(seat.Waiter)
		done = gone.done
		// Under the lock, so that the leavers are in the order of their slots.
		s.leaving.Join(name, gone, math.MaxInt, most, func(leavers []leaver[R]) { giveBackAll(leavers, giveBack) })
	})
	return done
}

func giveBackAll[R any](leavers []leaver[R], giveBack func([]R)) {
	reservations := make([]R, len(leavers))
	for i, l := range leavers {
		reservations[i] = l.reservation
	}
	giveBack(reservations)
	for _, l := range leavers {
		close(l.done)
	}
}
