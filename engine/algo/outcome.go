package algo

// Outcome is one limit's part of an answer. Spans are µs.
type Outcome struct {
	// Limit is the capacity: B of a bucket, L of the binding window.
	Limit int64
	// Remaining is how many units are left, rounded down.
	Remaining int64
	// Wait is 0 where the cost passes, Never where it never can.
	Wait int64
	// Reset is the time until the limit is as untouched.
	Reset int64
	// Delay is how long a pacer's admitted caller waits before going on.
	Delay int64
	// After is how far after the decision the units count that it charged: where the
	// clock is behind the state, or a log's newest entry lies ahead. A give by handle
	// names that instant.
	After int64
	// Window is the index of the binding window.
	Window int
}

// report fills in the outcome's limit, remaining and reset from the state: of
// the window that refuses, or of the one that is nearest to it.
func (s *State) report(l *Limit, t Instant, o *Outcome) {
	switch l.Algorithm {
	case TokenBucket, Pacer:
		s.bucket.report(l, o)
	case FixedWindow:
		s.fixed.report(l, t, o)
	case Concurrency:
		s.leases.report(l, t, o)
	case SlidingWindow, SlidingLog:
		s.reportWindows(l, t, o)
	}
}

func (s *State) reportWindows(l *Limit, t Instant, o *Outcome) {
	var buf Windows
	refused := o.Wait > 0
	for i, w := range l.windows(&buf) {
		if refused && i != o.Window {
			continue
		}
		left, reset := s.windowRoom(l, t, w), s.windowReset(l, t, w)
		if i == 0 || refused || left < o.Remaining || left == o.Remaining && reset > o.Reset {
			o.Limit, o.Remaining, o.Reset, o.Window = w.Limit, left, reset, i
		}
	}
}

func (s *State) windowReset(l *Limit, t Instant, w Window) int64 {
	if l.Algorithm == SlidingLog {
		return s.log.reset(t, l.Longest())
	}
	return s.segments.reset(l, t, w)
}

// ttl returns the time until the state equals absence: 0 when it does.
func (s *State) ttl(l *Limit, t Instant) int64 {
	switch l.Algorithm {
	case TokenBucket, Pacer:
		return s.bucket.ttl()
	case FixedWindow:
		return s.fixed.ttl(l, t)
	case SlidingWindow:
		return s.segments.ttl(l, t)
	case SlidingLog:
		return s.log.reset(t, s.log.Span)
	case Concurrency:
		return s.leases.ttl(t)
	default:
		return 0
	}
}
