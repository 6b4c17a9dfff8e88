package headgate

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
)

// seats are the callers of Wait that sleep until the slots of their reservations. When
// one of them leaves, those behind it in this process move up by one slot, and the last
// slot is given back instead of the first. The store itself cannot do that: it has told
// the callers behind their slots already.
type seats struct {
	mu      sync.Mutex
	byName  map[lineName][]*seat
	leaving map[lineName][]leaver // nil where a call is in flight and no other waits for it
}

// leaver is a caller that waits until its reservation is cancelled.
type leaver struct {
	reservation *Reservation
	done        chan struct{}
}

// seat is one caller with its slot. Of a key they are in the order of their slots.
type seat struct {
	policy      *Policy
	units       int64
	reservation *Reservation
	moved       chan struct{} // has an element after the caller has got another slot
}

// take adds a caller with its reservation.
func (s *seats) take(name lineName, p *Policy, units int64, r *Reservation) *seat {
	taken := &seat{policy: p, units: units, reservation: r, moved: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	list, known := s.byName[name]
	if !known {
		name.key = strings.Clone(name.key)
		if s.byName == nil {
			s.byName = map[lineName][]*seat{}
		}
	}
	at, _ := slices.BinarySearchFunc(list, r.slot, func(other *seat, slot time.Time) int { return other.reservation.slot.Compare(slot) })
	s.byName[name] = slices.Insert(list, at, taken)
	return taken
}

// remove removes a caller whose slot has come.
func (s *seats) remove(name lineName, gone *seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(name, slices.Index(s.byName[name], gone))
}

func (s *seats) drop(name lineName, at int) {
	list := slices.Delete(s.byName[name], at, at+1)
	if len(list) == 0 {
		delete(s.byName, name)
		return
	}
	s.byName[name] = list
}

// leave removes a caller that gives up, and gives the last slot back. Callers that leave
// together give back the last slots first, so that no slot stays behind another.
func (s *seats) leave(ctx context.Context, name lineName, gone *seat) {
	s.mu.Lock()
	name.key = strings.Clone(name.key)
	l := leaver{reservation: s.moveUp(name, gone), done: make(chan struct{})}
	others, sends := s.leaving[name]
	if s.leaving == nil {
		s.leaving = map[lineName][]leaver{}
	}
	s.leaving[name] = append(others, l)
	s.mu.Unlock()
	if !sends {
		s.cancelAll(ctx, name, gone.policy.limiter)
	}
	<-l.done
}

// moveUp removes a caller, and returns the reservation that is left over: callers behind
// it with as many units under the same limits move up by one.
func (s *seats) moveUp(name lineName, gone *seat) *Reservation {
	at := slices.Index(s.byName[name], gone)
	free := gone.reservation
	for _, behind := range s.byName[name][at+1:] {
		if behind.units == gone.units && slices.Equal(behind.policy.limits, gone.policy.limits) {
			free, behind.reservation = behind.reservation, free
			select {
			case behind.moved <- struct{}{}:
			default:
			}
		}
	}
	s.drop(name, at)
	return free
}

// undoWithin bounds a call that gives units back for callers that have left.
const undoWithin = time.Second

// cancelAll cancels the reservations of leavers until there are no more. Where that fails,
// the units stay spent.
func (s *seats) cancelAll(ctx context.Context, name lineName, l *Limiter) {
	for {
		s.mu.Lock()
		leaving := s.leaving[name]
		leaving = leaving[:min(len(leaving), engine.MaxOps)]
		if s.leaving[name] = s.leaving[name][len(leaving):]; len(leaving) == 0 {
			delete(s.leaving, name)
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		ops := make([]engine.Op, len(leaving))
		for i := range leaving {
			ops[i] = leaving[i].reservation.held.Settle(0)
		}
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
		l.Do(own, ops, nil)
		cancel()
		for i := range leaving {
			close(leaving[i].done)
		}
	}
}

// delay returns how long the caller has still to wait.
func (s *seats) delay(of *seat) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return of.reservation.Delay()
}
