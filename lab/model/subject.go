package model

import (
	"maps"
	"slices"
	"strconv"
)

// Subject is the state of all limits of one subject.
type Subject struct {
	stored map[key]view
	back   map[key]returns
	leases map[key]leases
	made   int // number of reservations

	// Outcomes are reported with the next operation to the limits with an adaptive rate.
	Outcomes *Outcomes
}

// New returns a subject without any state.
func New() *Subject {
	return &Subject{stored: map[key]view{}, back: map[key]returns{}, leases: map[key]leases{}}
}

// Clone returns an independent copy on which operations can be tried. Stored state is only replaced, and never
// changed in place.
func (s *Subject) Clone() *Subject {
	return &Subject{stored: maps.Clone(s.stored), back: maps.Clone(s.back), leases: maps.Clone(s.leases), made: s.made}
}

// key is the name of a limit's counter (rule 13). The only parameters that it contains are the grid.
type key struct{ subject, algorithm, name, grid string }

// view is the state of one limit at one instant, under one version of the limit. The stored state is simply the last
// view written.
type view interface {
	// at returns a copy of this state as seen by a call at the given time under the given version of the limit.
	at(l Limit, now int64) view
	// moved returns the state to store after the clock was set far back (rule 8). Otherwise ok is false.
	moved(l Limit, now int64) (v view, ok bool)
	// gone reports whether the state is equivalent to no state.
	gone() bool
	// rows returns each window, with the wait for c more units. The wait is 0 if c is 0.
	rows(c int64) []row
	admits(c int64) bool
	most() int64         // the largest cost that would pass now
	delay(c int64) int64 // the delay for an admitted cost
	spend(c int64)
	deny(c, wait int64) // counts the denied cost of a request with this wait (CountDenied)
	give(n int64)
	place() int64 // the instant when units charged now count
	// giveBack gives units of a reservation back. r lists the units given back earlier.
	giveBack(n int64, h held, r returns) returns
}

// item is one limit of a request.
type item struct {
	key
	limit Limit
	cost  int64
	view  view
	moved view // the state that a denied request stores, or nil
	aside bool // another choice was taken
	// reported means that the view has counted outcomes or changed its rate, so that even a denial stores it.
	reported bool
	observed bool // the view has counted outcomes
}

// Apply applies one operation at a store time. Several limits form one all-or-nothing request. n must not be negative,
// and no pair of algorithm and name may occur twice; stores reject both mistakes before any decision (rules 5 and 6).
// Concurrency limits have their own verbs.
func (s *Subject) Apply(limits []Limit, op string, n, atUS int64) Answer {
	return s.ApplyCosts(limits, each(limits, n), op, atUS)
}

// each returns the same cost for every limit.
func each(limits []Limit, n int64) []int64 { return slices.Repeat([]int64{n}, len(limits)) }

// ApplyCosts is like [Subject.Apply], with a cost for each limit. A limit with cost 0 is part of the request, but is
// not charged (rule 5).
func (s *Subject) ApplyCosts(limits []Limit, costs []int64, op string, atUS int64) Answer {
	return s.Decide(limits, costs, op, atUS).Answer
}

// Decide is like [Subject.ApplyCosts], but also returns the binding limit and each limit's state.
func (s *Subject) Decide(limits []Limit, costs []int64, op string, atUS int64) Decision {
	items := s.look(limits, costs, atUS)
	switch op {
	case Reset:
		return s.reset(items, atUS)
	case Give:
		return s.give(items, atUS)
	case AtMost:
		return s.atMost(items)
	case Count:
		return s.count(items)
	}
	return s.take(items, op != Peek)
}

func (s *Subject) look(limits []Limit, costs []int64, now int64) []item {
	items := make([]item, len(limits))
	for i, l := range limits {
		it := item{key: keyOf(l, i, len(limits)), limit: l, cost: costs[i]}
		if old, ok := s.stored[it.key]; ok {
			it.view = old.at(l, now)
			if moved, ok := old.moved(l, now); ok {
				it.moved = moved
			}
		} else {
			it.view = absent(l, now)
		}
		if g, ok := it.view.(*governor); ok {
			it.reported = g.stepped && it.cost > 0
			if s.Outcomes != nil {
				g.observe(s.Outcomes)
				it.reported, it.observed = true, true
			}
		}
		items[i] = it
	}
	s.Outcomes = nil
	return items
}

// keyOf returns the name of the counter for limit i of n. An unnamed limit is called "default" if it is the only limit,
// and otherwise "1", "2", … (rule 13).
func keyOf(l Limit, i, n int) key {
	a := algorithms[l.Algorithm]
	k := key{subject: l.Key, algorithm: a.names[0], name: l.Name}
	if a.shared {
		k.subject = ""
	}
	if a.grid != nil {
		k.grid = a.grid(l)
	}
	switch {
	case k.name == "" && n == 1:
		k.name = "default"
	case k.name == "":
		k.name = strconv.Itoa(i + 1)
	}
	return k
}

// absent returns the state of an unused limit (rule 7).
func absent(l Limit, now int64) view { return algorithms[l.Algorithm].absent(l, now) }
