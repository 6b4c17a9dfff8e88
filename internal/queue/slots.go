package queue

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"
)

// ErrEnded is the error of a wait that the end of its owner has ended.
var ErrEnded = errors.New("queue: ended")

// Slots is callers that wait until the slots of their reservations. The callers of one name
// are alike: each can use the reservation of another. So they have no reservation of their
// own: the first caller has the first slot. When one leaves, those behind it have moved up,
// and the last slot is given back instead of its own. A store cannot do that, because it has
// told the callers their slots already. The zero value is ready to use.
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

// Take adds a caller with its reservation. The order is that of the slots.
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

// Wait returns at the caller's slot, with the reservation that it then uses. If its context or
// end is done before, it leaves: see Leave.
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

// pass takes a caller out whose slot has come, and otherwise returns how long it has to wait.
// A caller behind another one is told when it is the first.
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

// Leave takes a caller out that gives up, and gives the last slot back. done is closed when
// giveBack has returned. One call at a time gives back, up to most reservations, the last
// slot first, so that no slot stays behind another.
func (s *Slots[N, R]) Leave(name N, seat Seat, most int, giveBack func([]R)) (done <-chan struct{}) {
	s.set.Do(name, func(q *Queue[[]slot[R], struct{}]) {
		last := len(q.State) - 1
		gone := leaver[R]{q.State[last].reservation, make(chan struct{})}
		q.State = slices.Delete(q.State, last, last+1)
		q.Leave(seat.Waiter)
		done = gone.done
		// Under the lock: the order of the leavers is that of their slots.
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
