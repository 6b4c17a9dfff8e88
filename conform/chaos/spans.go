package chaos

import (
	"cmp"
	"slices"
	"time"
)

// grace is what is taken from the end of a window, because the clock of Redis is in whole
// microseconds and may be corrected while a seed runs.
const grace = time.Millisecond

// tally counts the units that were admitted in a span, by what decided: the store, or shares.
type tally struct {
	store, shares     int64
	leased, overshoot int64 // the largest bounds that answers stated
	modes             map[string]bool
	// settled is what settlements charged beyond their reservations. It counts against the limit in the
	// next answer of the store.
	settled []*answer
}

// spans checks how many units were admitted in the spans that begin with each request.
//
// What the store decided, leased units included, keeps the limit by itself, and once more
// for each time that the store lost its data, and for some steps of its clock. What the processes decided by
// their shares is no more than a bucket of the limit's capacity and rate admits, also when processes begin
// anew. Both together exceed the limit by what the answers of the shares state.
func (f *found) spans(h *happened, l *limit, log []answer) {
	passed := slices.DeleteFunc(slices.Clone(log), func(a answer) bool { return !a.allowed })
	byAnswer := slices.Clone(passed)
	slices.SortFunc(byAnswer, func(a, b answer) int { return cmp.Compare(a.received, b.received) })
	for i := range passed {
		from := passed[i].sent
		if i > 0 && passed[i-1].sent == from {
			continue
		}
		f.from(h, l, from, byAnswer)
	}
}

// from checks the spans that begin at an instant: of a window the one, of a bucket those
// that end with an answer, up to the time in which it fills twice.
func (f *found) from(h *happened, l *limit, from time.Duration, byAnswer []answer) {
	end := from + l.period - grace
	if l.algorithm == fixed {
		if h.stepping(from) {
			return
		}
		wall := h.wall.Add(from + h.ahead(from))
		end = h.untilJump(l, from, from+wall.Truncate(l.period).Add(l.period).Sub(wall)-grace)
	}
	if l.refill > 0 {
		end = from + 2*l.period
	}
	first, _ := slices.BinarySearchFunc(byAnswer, from, func(a answer, at time.Duration) int { return cmp.Compare(a.received, at) })
	t, last := tally{modes: map[string]bool{}}, from
	for i := first; i < len(byAnswer) && byAnswer[i].received < end; i++ {
		a := &byAnswer[i]
		if a.sent < from {
			continue
		}
		t.add(a)
		last = a.received
		if l.refill > 0 && !f.check(h, l, span{from, last}, &t) {
			return
		}
	}
	if l.refill == 0 {
		last = end
		f.check(h, l, span{from, end}, &t)
	}
	f.note(h, l, span{from, last}, &t)
}

func (t *tally) add(a *answer) {
	t.modes[a.mode] = true
	switch {
	case a.beyond > 0:
		t.settled = append(t.settled, a)
	case a.fallback() && a.overshoot < 0:
		// Nothing bounds it, and it says so.
	case a.fallback():
		t.shares += a.spent()
		t.overshoot = max(t.overshoot, a.overshoot)
	default:
		t.store += a.spent()
		t.settled = slices.DeleteFunc(t.settled, func(before *answer) bool {
			remembered := before.received < a.sent
			if remembered {
				t.store += before.beyond
			}
			return remembered
		})
		t.leased = max(t.leased, a.overshoot)
	}
}

// bounds returns what the store and the shares may admit in a span.
func (t *tally) bounds(h *happened, l *limit, s span) (store, shares int64) {
	admits := l.admits(s.to - s.from)
	store = admits + t.leased + l.count*(h.lossesIn(s.from, s.to)+h.jumpsIn(l, s.from, s.to))
	shares = l.share(s.to - s.from)
	return store, shares
}

func (f *found) check(h *happened, l *limit, s span, t *tally) (kept bool) {
	store, shares := t.bounds(h, l, s)
	if t.store > store {
		f.violatef("exceeded", "%s: the store admitted %d from %s to %s, the bound is %d; faults %q", l.policy, t.store, seconds(s.from), seconds(s.to), store, h.faultsIn(s.from, s.to))
	}
	if t.shares > shares {
		f.violatef("shares", "%s: the shares admitted %d from %s to %s, the bound is %d; faults %q", l.policy, t.shares, seconds(s.from), seconds(s.to), shares, h.faultsIn(s.from, s.to))
	}
	// Both together exceed the limit by what the answers state, in a span of the limit's own time.
	span := s.to - s.from
	stated := l.admits(span) + t.leased + t.overshoot + l.count*(h.lossesIn(s.from, s.to)+h.jumpsIn(l, s.from, s.to))
	if t.shares > 0 && span <= l.span() && t.store+t.shares > stated {
		f.violatef("stated", "%s: %d were admitted from %s to %s, the answers state %d at most; faults %q", l.policy, t.store+t.shares, seconds(s.from), seconds(s.to), stated, h.faultsIn(s.from, s.to))
	}
	return t.store <= store && t.shares <= shares
}

// note puts a span into the table, under its faults and the weakest of its modes.
func (f *found) note(h *happened, l *limit, s span, t *tally) {
	mode := "exact"
	for _, weaker := range []string{"split", "leased", "fallback"} {
		if t.modes[weaker] {
			mode = weaker
		}
	}
	admits := l.admits(s.to - s.from)
	units := max(0, t.store+t.shares-admits)
	bound := t.leased + t.overshoot + l.count*(h.lossesIn(s.from, s.to)+h.jumpsIn(l, s.from, s.to))
	for _, fault := range h.faultsIn(s.from, s.to) {
		c := cell{fault, mode}
		e := f.excess[c]
		e.Spans++
		// Of spans with the same excess, the table has the largest bound.
		if units > e.Units || units == e.Units && bound > e.Bound {
			e.Units, e.Bound, e.Policy = units, bound, l.policy
		}
		f.excess[c] = e
	}
}
