package chaos

import "time"

// step is a time in which the clock of Redis was stepped.
type step struct {
	span
	by time.Duration
}

// ahead returns how far the clock of Redis was ahead of the real one at an instant.
func (h *happened) ahead(at time.Duration) (by time.Duration) {
	for _, s := range h.steps {
		if s.to <= at {
			by += s.by
		}
	}
	return by
}

// stepping reports whether the clock was being stepped at an instant, so that its time is
// not known.
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

// jumpsIn returns how often steps of the clock let the limit through once more in a span: each
// step forward, because what was spent is then older, and each step back by the limit's span
// or more. A shorter step back is waited for: see rule 8. Units that were prefetched before a
// step can be spent after it, in a window that they were not charged to.
func (h *happened) jumpsIn(l *limit, from, to time.Duration) (n int64) {
	if l.leased {
		from -= life
	}
	for _, s := range h.steps {
		if s.touches(from-grace, to+grace) && s.jumps(l) {
			n++
		}
	}
	return n
}

func (s *step) jumps(l *limit) bool { return s.by > 0 || -s.by >= l.span() }

// untilJump returns the end of a window, which is earlier if the clock jumps out of it.
func (h *happened) untilJump(l *limit, from, end time.Duration) time.Duration {
	for _, s := range h.steps {
		if s.from > from && s.from < end && s.jumps(l) {
			return s.from - grace
		}
	}
	return end
}

// waits reports whether a denial can be right because of a step of the clock. After a step
// forward a denial is repeated for as long as others are. After a step back it is right until
// the clock has made the step up, or, if that was a long one, for as long as what was spent
// counts once more.
func (h *happened) waits(l *limit, at time.Duration) bool {
	for _, s := range h.steps {
		lasts := h.stale + late
		if s.by < 0 {
			lasts += min(-s.by, 2*l.span()) + 2*l.span()
		}
		if s.touches(at-lasts, at+grace) {
			return true
		}
	}
	return false
}

// span is how long what was spent of a limit counts.
func (l *limit) span() time.Duration {
	if l.refill == 0 {
		return l.period
	}
	return time.Duration(l.count) * l.period / time.Duration(l.refill)
}
