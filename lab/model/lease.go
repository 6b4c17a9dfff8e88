package model

import (
	"errors"
	"maps"
	"sort"
)

// These are the names of the algorithms.
const (
	Concurrency     = "concurrency"
	FairConcurrency = "fair-concurrency"
)

var _ = register(algorithm{
	names: []string{Concurrency},
	check: func(l Limit) error {
		return errors.Join(within("limit", l.Limit, 1, MaxUnits), l.noCountDenied())
	},
	absent: func(l Limit, now int64) view { return newHolding(l, now) },
})

var _ = register(algorithm{
	names: []string{FairConcurrency},
	check: func(l Limit) error {
		return errors.Join(within("limit", l.Limit, 10, MaxUnits), within("weight", l.weight(), 1, 100), l.noCountDenied())
	},
	absent: func(l Limit, now int64) view { return newHolding(l, now) },
	shared: true,
})

// leases holds a concurrency limit's permits (section 7) by id or, for a fair limit, by key and id.
type leases map[holder]lease

type holder struct{ key, id string }

func (l Limit) holder(id string) holder {
	if l.Algorithm == FairConcurrency {
		return holder{l.Key, id}
	}
	return holder{id: id}
}

// lease is one permit. It stores its own length, so that another version of the limit does not shorten it.
type lease struct{ cost, length, expires int64 }

// Acquire acquires a permit. If the id already holds a live permit, the permit's own units do not count against it, and
// a repeated call changes only the expiry, even if the limit has been lowered since (rule 10).
func (s *Subject) Acquire(l Limit, id string, cost, leaseUS, atUS int64) Answer {
	held, corrected := s.held(l, atUS)
	others, who := maps.Clone(held), l.holder(id)
	delete(others, who)
	mine, live := held[who]
	repeated := live && mine.cost == cost
	allowed := repeated || others.admits(l, cost, mine.cost)
	if cost == 0 { // like Take(0): allowed, but writes nothing
		return held.answer(l, true, 0, atUS)
	}
	if !allowed {
		s.keep(l, held, corrected)
		return held.answer(l, false, others.wait(l, cost, mine.cost, atUS), atUS)
	}
	others[who] = lease{cost, leaseUS, atUS + leaseUS}
	s.leases[keyOf(l, 0, 1)] = others
	return others.answer(l, true, 0, atUS)
}

// Renew extends a live permit. If the id holds no live permit, the permit is lost, and the answer is a denial with the
// wait Never.
func (s *Subject) Renew(l Limit, id string, leaseUS, atUS int64) Answer {
	held, corrected := s.held(l, atUS)
	mine, live := held[l.holder(id)]
	if !live {
		s.keep(l, held, corrected)
		return held.answer(l, false, never, atUS)
	}
	held[l.holder(id)] = lease{mine.cost, leaseUS, atUS + leaseUS}
	s.leases[keyOf(l, 0, 1)] = held
	return held.answer(l, true, 0, atUS)
}

// Release releases a permit. It is not an error if the permit is already gone.
func (s *Subject) Release(l Limit, id string, leaseUS, atUS int64) Answer {
	held, corrected := s.held(l, atUS)
	_, live := held[l.holder(id)]
	delete(held, l.holder(id))
	s.keep(l, held, live || corrected)
	return held.answer(l, true, 0, atUS)
}

// Held returns the state, and writes nothing.
func (s *Subject) Held(l Limit, leaseUS, atUS int64) Answer {
	held, _ := s.held(l, atUS)
	return held.answer(l, true, 0, atUS)
}

// held returns a copy of the permits that expire after now. Each expires at most its own length after now (rule 8).
// corrected reports whether a permit was shortened for this reason.
func (s *Subject) held(l Limit, now int64) (live leases, corrected bool) {
	live = leases{}
	for id, e := range s.leases[keyOf(l, 0, 1)] {
		if e.expires > now+e.length {
			e.expires, corrected = now+e.length, true
		}
		if e.expires > now {
			live[id] = e
		}
	}
	return live, corrected
}

// keep writes the state if write is true, because the call has changed or corrected a permit. Otherwise nothing is
// written, not even the expiry of a permit (rule 4).
func (s *Subject) keep(l Limit, held leases, write bool) {
	if write {
		s.leases[keyOf(l, 0, 1)] = held
	}
}

func (h leases) units() (n int64) {
	for _, e := range h {
		n += e.cost
	}
	return n
}

// byKey returns the units of each key, and the sum of their squares.
func (h leases) byKey() (units map[string]int64, squares int64) {
	units = map[string]int64{}
	for who, e := range h {
		units[who.key] += e.cost
	}
	for _, n := range units {
		squares += n * n
	}
	return units, squares
}

// admits reports whether c units fit in addition to all permits. Under a fair limit (section 7b), a key without units
// can always get one, and a holder can always reduce its units. In all other cases, enough units must stay free.
func (h leases) admits(l Limit, c, had int64) bool {
	free := l.Limit - h.units() - c
	if free < 0 || l.Algorithm != FairConcurrency {
		return free >= 0
	}
	byKey, squares := h.byKey()
	own, kept, reserve := byKey[l.Key]+c, l.weight()*free, (l.Limit+15)/16
	switch {
	case own == 1 || c <= had || kept >= 2*reserve:
		return true
	case len(h) == 0:
		return kept >= reserve
	}
	return kept*squares >= reserve*own*h.units() // free ≥ reserve·own/mean/weight, where mean is squares/units
}

// most returns the largest cost that fits.
func (h leases) most(l Limit) int64 {
	return int64(sort.Search(int(l.Limit), func(i int) bool { return !h.admits(l, int64(i)+1, 0) }))
}

// wait returns the time in µs until enough permits have expired for c units to fit. The holder's own units, had, count
// as free.
func (h leases) wait(l Limit, c, had, now int64) int64 {
	if !(leases{}).admits(l, c, had) {
		return never
	}
	first := int64(never)
	for _, candidate := range h {
		left := maps.Clone(h)
		maps.DeleteFunc(left, func(_ holder, e lease) bool { return e.expires <= candidate.expires })
		if left.admits(l, c, had) {
			first = min(first, candidate.expires-now)
		}
	}
	return first
}

func (h leases) answer(l Limit, allowed bool, wait, now int64) Answer {
	r := row{limit: leases{}.most(l), remaining: h.most(l), wait: wait}
	for _, e := range h {
		r.reset = max(r.reset, e.expires-now)
	}
	a := r.answer(allowed, 0)
	if l.Algorithm == FairConcurrency && len(h) > 0 {
		byKey, squares := h.byKey()
		a.Held, a.Own = h.units(), byKey[l.Key]
		a.Heavy = a.Held * a.Held / squares
	}
	return a
}

// These are the operations of [Subject.ApplyLease].
const (
	Acquire = "acquire"
	Renew   = "renew"
	Release = "release"
	Held    = "held"
)

// LeaseCase is a sequence of operations on one subject's concurrency limit.
type LeaseCase struct {
	Limits []Limit     `json:"limits"` // versions of one limit
	Steps  []LeaseStep `json:"steps"`
}

// LeaseStep applies one operation to one of the case's limits.
type LeaseStep struct {
	AtUS    int64  `json:"at_us"`
	Limit   int    `json:"limit"`
	Op      string `json:"op"`
	ID      string `json:"id"`
	Cost    int64  `json:"cost"`
	LeaseUS int64  `json:"lease_us"`
	Want    Answer `json:"want"`
}

// ApplyLease applies the step's operation.
func (s *Subject) ApplyLease(l Limit, step LeaseStep) Answer {
	switch step.Op {
	case Acquire:
		return s.Acquire(l, step.ID, step.Cost, step.LeaseUS, step.AtUS)
	case Renew:
		return s.Renew(l, step.ID, step.LeaseUS, step.AtUS)
	case Release:
		return s.Release(l, step.ID, step.LeaseUS, step.AtUS)
	}
	return s.Held(l, step.LeaseUS, step.AtUS)
}
