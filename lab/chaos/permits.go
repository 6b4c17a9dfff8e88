package chaos

import (
	"slices"
	"time"
)

// permits checks that at no time more permits were held than the limit allows. Permits granted by shares may be held in
// addition, up to the limit or one for each process. However, once a process answers exactly, it has reported to the store all permits that it
// granted from its share before the request was sent.
func (f *found) permits(h *happened, holds []hold) {
	for i := range holds {
		at := &holds[i]
		exact, own, all := int64(0), int64(0), int64(0)
		for j := range holds {
			o := &holds[j]
			if o.policy != at.policy || o.from > at.from || at.from >= o.to {
				continue
			}
			all++
			if !o.shared {
				exact++
			} else if o.process == at.process && o.from <= at.may.from && !h.began(o.process, o.may.from, at.from) {
				own++
			}
		}
		// After a data loss, permits that were acquired before the loss are held for up to a lease time.
		jumps := h.jumpsIn(&limit{period: seatLease}, at.from-seatLease, at.from)
		bound := seatCount * (1 + jumps + h.lossesIn(at.from-seatLease, at.from))
		held := exact
		if !at.shared {
			held += own
		}
		if held > bound || all > bound+max(seatCount, shareCount) {
			f.violatef("permits", "%s: %d were held at %s beside %d of shares, %d of them of process %d, the limit is %d, and %d with the losses of data", at.policy, exact, seconds(at.from), all-exact, own, at.process, seatCount, bound)
			return
		}
	}
}

// began reports whether a process restarted in a span. A restarted process has lost its record of the permits that it
// granted before.
func (h *happened) began(process int, from, to time.Duration) bool {
	return slices.ContainsFunc(h.restarts, func(r restart) bool { return r.process == process && r.touches(from, to) })
}

// deniedPermits checks that a permit was denied only while all permits may have been held. A settlement releases its
// reservation's permit, and a denied list holds no permit. Denials are excused by faults, and by a process that could
// not reach the store and so may not have reported its permits yet.
func (f *found) deniedPermits(h *happened, holds []hold, away away) {
	for i := range holds {
		at := &holds[i]
		if !at.denied || !h.calm(at.may.from-seatLease-late, at.may.to) {
			continue
		}
		held := 0
		for j := range holds {
			if o := &holds[j]; o.policy == at.policy && !o.denied && o.may.from <= at.may.to && o.until(away) >= at.may.from {
				held++
			}
		}
		if held < seatCount {
			f.violatef("permit", "%s: process %d was denied at %s, when %d of %d can have been held", at.policy, at.process, seconds(at.may.from), held, seatCount)
			return
		}
	}
}

// until returns the time from which the permit was certainly free in the store.
func (h *hold) until(away away) time.Duration {
	if h.ended == 0 || away.at(h.process, h.ended-late, h.ended+late) {
		return h.may.to
	}
	return min(h.may.to, h.ended)
}

// calm reports whether a span contains no fault.
func (h *happened) calm(from, to time.Duration) bool {
	touches := func(s span) bool { return s.touches(from, to) }
	return !slices.ContainsFunc(h.faults, func(s struck) bool { return touches(s.span) }) && !slices.ContainsFunc(h.losses, touches)
}

// away lists, for each process, the times of requests that the store did not answer, in order.
type away map[int][]time.Duration

func awayOf(answers []answer) away {
	w := away{}
	for i := range answers {
		if a := &answers[i]; a.fallback() || slices.Contains(unanswered, a.class) || a.class == "stuck" {
			w[a.process] = append(w[a.process], a.sent)
		}
	}
	for _, times := range w {
		slices.Sort(times)
	}
	return w
}

// at reports whether, in a span, a process received a request that the store did not answer.
func (w away) at(process int, from, to time.Duration) bool {
	first, _ := slices.BinarySearch(w[process], from)
	return first < len(w[process]) && w[process][first] <= to
}
