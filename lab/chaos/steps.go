package chaos

import "time"

// step is a span in which Redis's clock was being stepped.
type step struct {
	span
	by time.Duration
}

// ahead returns how far Redis's clock was ahead of the real clock at an instant.
func (h *happened) ahead(at time.Duration) (by time.Duration) {
	for _, s := range h.steps {
		if s.to <= at {
			by += s.by
		}
	}
	return by
}

// stepping reports whether the clock was being stepped at an instant, so that its time is unknown.
func (h *happened) stepping(at time.Duration) bool {
	for _, s := range h.steps {
		if s.touches(at-grace, at+grace) {
			return true
		}
	}
	return false
}

// life is how long a process may hold prefetched units.
const life = time.Second

// unsettled is the longest time that callers keep a reservation open.
const unsettled = time.Second

// jumpsIn returns how many times clock steps make the whole limit available again in a span: once for each step
// forward, because spent units become older, and once for each step back by at least the limit's span. After a shorter
// step back, the state waits for the clock: see rule 8. Units that were prefetched before a step can be spent after it,
// in a window to which they were not charged. A reservation on a bucket that was charged before a step back, and is
// settled after it, can give back units that have refilled.
func (h *happened) jumpsIn(l *limit, from, to time.Duration) (n int64) {
	for _, s := range h.steps {
		lasts := time.Duration(0)
		switch {
		case l.leased:
			lasts = life
		case l.reserved && l.refill > 0 && s.by < 0:
			lasts = unsettled
		}
		if s.touches(from-lasts-grace, to+grace) && s.jumps(l) {
			n++
		}
	}
	return n
}

func (s *step) jumps(l *limit) bool { return s.by > 0 || -s.by >= l.span() }

// untilJump returns the end of a window. If a step makes the clock leave the window earlier, it returns the time of
// that step.
func (h *happened) untilJump(l *limit, from, end time.Duration) time.Duration {
	for _, s := range h.steps {
		if s.from > from && s.from < end && s.jumps(l) {
			return s.from - grace
		}
	}
	return end
}

// waits reports whether a clock step can justify a denial. After a step back, denials are justified until the clock has caught up, but for at most twice the
// time that spent units count. They stay justified for twice that time afterwards.
func (h *happened) waits(l *limit, at time.Duration) bool {
	for _, s := range h.steps {
		lasts := late
		if s.by < 0 {
			lasts += min(-s.by, 2*l.span()) + 2*l.span()
		}
		if s.touches(at-lasts, at+grace) {
			return true
		}
	}
	return false
}

// span returns how long spent units count under a limit.
func (l *limit) span() time.Duration {
	if l.refill == 0 {
		return l.period
	}
	return time.Duration(l.count) * l.period / time.Duration(l.refill)
}
