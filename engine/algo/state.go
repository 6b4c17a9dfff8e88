package algo

// Instant is the store's time, in microseconds since 1970.
type Instant struct {
	// Now is elapsed time that started from the wall clock: it does not jump.
	Now int64
	// Wall is the wall clock, for windows aligned to the clock or the calendar. A store
	// with a single clock gives the same number twice.
	Wall int64
}

// State is what a store keeps for one limit of one key. The zero State means no state,
// which equals an untouched limit. Do not keep two copies of a State: copies share their
// lists.
type State struct {
	algorithm Algorithm
	bucket    Bucket
	fixed     Fixed
	segments  *Segments
	log       *Log
	warmth    *Warmth
	permits   *Permits
}

// Absent reports whether there is nothing to store.
func (s *State) Absent() bool { return s.algorithm == None }

// Of reports whether the state is one of a limit of the algorithm.
func (s *State) Of(a Algorithm) bool { return s.algorithm == a }

// behind returns how far the clock is behind the state's instant (rule 8): the decision
// is made as of that instant. far is set if that is too long to wait for, and the state
// moves to now instead.
func (s *State) behind(l *Limit, t Instant) (us int64, far bool) {
	switch s.algorithm {
	case TokenBucket, Pacer:
		return s.bucket.behind(l, t)
	case FixedWindow:
		return 0, s.fixed.far(l, t)
	case SlidingWindow:
		return s.segments.behind(l, t)
	case SlidingLog:
		return s.log.behind(l, t)
	case WarmUp:
		return s.warmth.behind(l, t)
	case Concurrency:
		return 0, s.permits.behind(t)
	default:
		return 0, false
	}
}

// pull moves the state to now, on copies of its lists.
func (s *State) pull(l *Limit, t Instant) {
	switch s.algorithm {
	case TokenBucket, Pacer:
		s.bucket.At = t.Now
	case FixedWindow:
		s.fixed.End = l.opens(t)
	case SlidingWindow:
		s.segments = s.segments.pulled(l, t)
	case SlidingLog:
		s.log = s.log.pulled(t)
	case WarmUp:
		s.warmth = s.warmth.pulled(t)
	case Concurrency:
		s.permits = s.permits.pulled(t)
	}
}

// settle brings the state to an instant that is not before the state's own, under the
// limit's numbers.
func (s *State) settle(l *Limit, t Instant) {
	s.algorithm = l.Algorithm
	switch l.Algorithm {
	case TokenBucket, Pacer:
		s.bucket.settle(l, t)
	case FixedWindow:
		s.fixed.settle(l, t)
	case SlidingWindow:
		s.segments = s.segments.settle(l, t)
	case SlidingLog:
		s.log = s.log.settle(t)
	case WarmUp:
		s.warmth = s.warmth.settle(l, t)
	case Concurrency:
		s.permits = s.permits.settle(t)
	}
}

// wait returns how long until the cost passes (0: now) and, for several windows, which
// one has the longest wait.
func (s *State) wait(l *Limit, t Instant, cost int64) (wait int64, window int) {
	if cost == 0 {
		return 0, 0
	}
	switch l.Algorithm {
	case TokenBucket, Pacer:
		return s.bucket.wait(l, cost), 0
	case FixedWindow:
		return s.fixed.wait(l, t, cost), 0
	case WarmUp:
		return s.warmth.wait(l, t, cost), 0
	case Concurrency:
		return s.permits.wait(l, t, cost), 0
	case SlidingWindow, SlidingLog:
		var buf Windows
		for i, w := range l.windows(&buf) {
			if v := s.windowWait(l, t, w, cost); v > wait {
				wait, window = v, i
			}
		}
		return wait, window
	case Unlimited:
		return 0, 0
	default: // DenyAll, and an algorithm that has no case here: nothing passes
		return Never, 0
	}
}

func (s *State) windowWait(l *Limit, t Instant, w Window, cost int64) int64 {
	if l.Algorithm == SlidingLog {
		return s.log.wait(t, w, cost)
	}
	return s.segments.wait(l, t, w, cost)
}

// room returns how many units would pass now.
func (s *State) room(l *Limit, t Instant) int64 {
	switch l.Algorithm {
	case TokenBucket, Pacer:
		return s.bucket.room(l)
	case FixedWindow:
		return s.fixed.room(l, t)
	case WarmUp:
		return s.warmth.room(l, t)
	case SlidingWindow, SlidingLog:
		var buf Windows
		least := Never
		for _, w := range l.windows(&buf) {
			least = min(least, s.windowRoom(l, t, w))
		}
		return least
	case Unlimited:
		return Never
	default:
		return 0
	}
}

func (s *State) windowRoom(l *Limit, t Instant, w Window) int64 {
	if l.Algorithm == SlidingLog {
		return s.log.room(t, w)
	}
	return s.segments.room(l, t, w)
}

// delay returns how long an admitted caller must wait before it goes on.
func (s *State) delay(l *Limit, cost int64) int64 {
	if l.Algorithm != Pacer {
		return 0
	}
	return s.bucket.delay(l, cost)
}

// charge spends the cost, which wait has allowed. It returns how long after the instant
// the units count.
func (s *State) charge(l *Limit, t Instant, cost, ahead int64) (after int64) {
	switch l.Algorithm {
	case TokenBucket, Pacer:
		s.bucket.charge(l, cost)
	case FixedWindow:
		s.fixed.charge(l, t, cost)
		after = s.fixed.opensAfter(l, t)
	case SlidingWindow:
		s.segments.charge(l, t, cost)
	case SlidingLog:
		after = s.log.charge(l, t, cost, ahead)
	case WarmUp:
		s.warmth.charge(l, t, cost)
	}
	return after
}

// give returns n units to the limit: those of the charge with the handle taken or, for 0,
// the oldest. Units that were never spent cannot come back.
func (s *State) give(l *Limit, t Instant, n, taken int64) {
	switch l.Algorithm {
	case TokenBucket, Pacer:
		s.bucket.give(n)
	case FixedWindow:
		s.fixed.give(l, n, taken)
	case SlidingWindow:
		s.segments.give(l, t, n, taken)
	case SlidingLog:
		s.log.give(l, t, n, taken)
	case WarmUp:
		s.warmth.give(l, n)
	}
}

// penalize counts a denied cost: spent := min(L, spent + cost).
func (s *State) penalize(l *Limit, t Instant, cost int64) {
	var buf Windows
	most, widest := int64(0), int64(0)
	switch l.Algorithm {
	case FixedWindow:
		s.fixed.penalize(l, t, cost)
	case SlidingWindow:
		// Windows share their segments: the window with the most room decides.
		for _, w := range l.windows(&buf) {
			most = max(most, s.segments.room(l, t, w))
		}
		if extra := min(cost, most); extra > 0 {
			s.segments.charge(l, t, extra)
		}
	case SlidingLog:
		for _, w := range l.windows(&buf) {
			widest = max(widest, w.Limit)
		}
		s.log.penalize(l, t, widest, cost)
	}
}

// unshare gives the state its own lists, so that a charge can be tried.
func (s *State) unshare() {
	if s.segments != nil {
		c := *s.segments
		c.history = c.clone()
		s.segments = &c
	}
	if s.log != nil {
		s.log = &Log{history: s.log.clone(), Span: s.log.Span, Ahead: s.log.Ahead}
	}
}

// StoredBucket returns the state of a token bucket or a pacer from what a store keeps of
// it: the instant of its last change, what is missing in whole tokens and in parts of
// 1/period token, and the numbers under which it was written.
func StoredBucket(a Algorithm, at, whole, part, count, period int64) State {
	missing := product(whole, period).plus(uint128{lo: uint64(part)})
	return State{algorithm: a, bucket: Bucket{Missing: missing, Count: count, Period: period, At: at}}
}

// StoredFixed returns the state of a fixed window from what a store keeps of it.
func StoredFixed(count, end int64) State {
	return State{algorithm: FixedWindow, fixed: Fixed{Count: count, End: end}}
}

// Words is the state of a bucket, a pacer or a fixed window in two words
// ([Algorithm.InWords]), for stores with many keys: what is missing from the bucket and the instant, or the count and the
// window's end. The store keeps the numbers under which the state was written elsewhere.
type Words [2]uint64

// Words returns the state as two words; ok is false if there is no such form, or the
// state needs more.
func (s *State) Words() (w Words, ok bool) {
	switch s.algorithm {
	case TokenBucket, Pacer:
		return Words{s.bucket.Missing.lo, uint64(s.bucket.At)}, s.bucket.Missing.hi == 0
	case FixedWindow:
		return Words{uint64(s.fixed.Count), uint64(s.fixed.End)}, true
	default:
		return Words{}, false
	}
}

// Under reports whether the state keeps the limit's rate. If so, its words and the limit
// are the whole state.
func (s *State) Under(l *Limit) bool {
	return s.algorithm != TokenBucket && s.algorithm != Pacer || s.bucket.under(l)
}

// State returns the state that was written under the limit's numbers.
func (w Words) State(l *Limit) State {
	if l.Algorithm == FixedWindow {
		return StoredFixed(int64(w[0]), int64(w[1]))
	}
	return State{algorithm: l.Algorithm, bucket: Bucket{Missing: uint128{lo: w[0]}, Count: l.Count, Period: l.Period, At: int64(w[1])}}
}

// Expires returns the instant, in elapsed time, from which the state equals no state.
func (w Words) Expires(l *Limit, t Instant) int64 {
	if l.Algorithm == FixedWindow {
		return int64(w[1]) - l.clock(t) + t.Now
	}
	return int64(w[1]) + uint128{lo: w[0]}.ceilOver(l.Count)
}
