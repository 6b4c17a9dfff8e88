package chaos

import (
	"cmp"
	"slices"
	"time"
)

// grace is subtracted from the end of a window, because the resolution of Redis's clock is one microsecond, and the
// clock may be adjusted while a seed runs.
const grace = time.Millisecond

// tally counts the units admitted in a span, separately for decisions by the store and by shares.
type tally struct {
	store, shares     int64
	leased, overshoot int64 // the largest bounds stated in answers
	modes             map[string]bool
	// settled lists the settlements that charged units beyond their reservations. Such units count against the limit
	// from the store's next answer.
	settled []*answer
}

// spans checks the number of units admitted in the spans that begin with each request.
//
// The units that the store admitted, including leased units, must stay within the limit, plus the limit once more for
// each time that the store lost its data, and for some steps of its clock. While two primaries answer, both refill. The
// units that processes admitted from their shares must stay within a bucket with the limit's capacity and rate, even
// across restarts, but for what the store admitted in doubt. Together, the store and the shares may exceed the limit only by the overshoot stated in the shares'
// answers.
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

// from checks the spans that begin at the given time. For a window there is a single span, and those in which shares, which
// are buckets, may have admitted too much. For a bucket, there is one span for each answer until twice the time to fill it.
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
		if (l.refill > 0 || t.shares > l.share(last-from)) && !f.check(h, l, span{from, last}, &t) {
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
		// The answers state that the excess is unlimited.
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

// bounds returns how many units the store and the shares may admit in a span.
func (t *tally) bounds(h *happened, l *limit, s span) (store, shares int64) {
	admits := l.admits(s.to - s.from)
	store = admits + t.leased + l.count*(h.lossesIn(s.from, s.to)+h.jumpsIn(l, s.from, s.to))
	for _, both := range h.twice {
		if both.touches(s.from, s.to) {
			store += l.gains(l.refill, min(both.to, s.to)-max(both.from, s.from))
		}
	}
	shares = l.share(s.to - s.from)
	for _, loss := range h.losses { // in doubt, answers of the store are marked like those of shares
		doubt := span{loss.from, loss.to + notices + l.period}
		if doubt.touches(s.from, s.to) {
			shares += l.admits(min(doubt.to, s.to) - max(doubt.from, s.from))
		}
	}
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
	// In a span of the limit's length, the store and the shares together exceed the limit by at most the overshoot
	// stated in answers.
	span := s.to - s.from
	stated := l.admits(span) + t.leased + t.overshoot + l.count*(h.lossesIn(s.from, s.to)+h.jumpsIn(l, s.from, s.to))
	if t.shares > 0 && span <= l.span() && t.store+t.shares > stated {
		f.violatef("stated", "%s: %d were admitted from %s to %s, the answers state %d at most; faults %q", l.policy, t.store+t.shares, seconds(s.from), seconds(s.to), stated, h.faultsIn(s.from, s.to))
	}
	return t.store <= store && t.shares <= shares
}

// note records a span in the table, under its faults and its weakest mode.
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
		// If spans have the same excess, the table shows the span with the largest bound.
		if units > e.Units || units == e.Units && bound > e.Bound {
			e.Units, e.Bound, e.Policy = units, bound, l.policy
		}
		f.excess[c] = e
	}
}
