package chaos

import (
	"cmp"
	"slices"
	"time"
)

// late is how long after an error a request may still be charged, because it may be buffered in a connection or in a
// hanging server.
const late = 2 * time.Second

// charge is a span when a request was, or may have been, charged.
type charge struct {
	span
	units int64
}

// denials checks that every denial was justified. It counts all units that may have been charged, so that any doubt
// counts in favour of the denial.
func (f *found) denials(h *happened, l *limit, log []answer) {
	// Some limits cannot be checked. Leased limits count prefetched units as spent, the bounds of pacers and warm-up
	// limits vary over time, and a limit with several windows may have denied because of another window.
	if l.leased || l.algorithm == pacer || l.algorithm == warmUp || len(l.also) > 0 {
		return
	}
	charges := make([]charge, 0, len(log))
	for i := range log {
		if c, charged := h.chargeOf(&log[i]); charged {
			charges = append(charges, c)
		}
	}
	slices.SortFunc(charges, func(a, b charge) int { return cmp.Compare(a.to, b.to) })
	for i := range log {
		a := &log[i]
		if a.class != "" || a.allowed || a.fallback() || h.waits(l, a.received) {
			continue
		}
		if a.assumed && h.lossesIn(a.sent-2*l.span()-notices, a.received) > 0 {
			continue // shares also deny while the limit is in doubt
		}
		if spent, room := h.spent(l, charges, a); spent+a.cost() <= room {
			f.violatef("denied", "%s %s: process %d denied (%s) at %s, when %d of %d units can have been spent; faults %q",
				l.policy, a.key, a.process, a.mode, seconds(a.sent), spent, room, h.faultsIn(a.sent, a.received))
			return
		}
	}
}

// chargeOf returns the span in which a request was charged, or may have been charged. charged is false if it certainly
// was not.
func (h *happened) chargeOf(a *answer) (c charge, charged bool) {
	switch {
	case a.class != "" || a.fallback():
		c := charge{span{a.sent, a.received + late}, a.cost()}
		for _, s := range h.faults {
			if s.touches(a.sent, a.received) {
				c.to = max(c.to, s.to+late)
			}
		}
		return c, true
	case a.allowed:
		return charge{span{a.sent, a.received}, a.cost()}, true
	default:
		return charge{}, false
	}
}

// spent returns the largest number of units that may have been spent when a request was denied. The denial is justified
// if this number plus the request's cost exceeds room.
func (h *happened) spent(l *limit, charges []charge, a *answer) (spent, room int64) {
	room = l.least
	from := a.sent - l.period - 2*grace
	switch l.algorithm {
	case fixed:
		wall := h.wall.Add(a.sent + h.ahead(a.sent))
		from = a.sent - wall.Sub(wall.Truncate(l.period)) - 2*grace
	case sliding:
		from -= l.period / 20 // the oldest segment counts fully
	case bucket:
		return bucketSpent(l, charges, a), room
	}
	for _, c := range charges {
		if c.to >= from && c.from <= a.received {
			spent += c.units
		}
	}
	return spent, room
}

// bucketSpent returns the largest number of units that can be missing from a bucket, assuming that every charge was
// as late as possible. The charges are sorted by their latest times.
func bucketSpent(l *limit, charges []charge, a *answer) (most int64) {
	n := int64(0)
	for _, c := range slices.Backward(charges) {
		if c.from > a.received {
			continue
		}
		n += c.units
		refilled := max(0, int64(a.sent-c.to)) * l.refill / int64(l.period)
		most = max(most, n-refilled)
	}
	return most
}
