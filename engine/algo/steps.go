package algo

// Step is one limit of one request, while it is decided. The store fills in
// Limit, Cost and State (as stored), calls one verb with all the steps, and
// then stores State of each step whose Write is set, for TTL µs: deleting it
// where TTL is 0.
type Step struct {
	Limit *Limit
	Cost  int64
	State State
	// Taken is for Give: the instant of the charge that is given back. What
	// has gone since with its window, segment or entry is not given again. 0
	// gives back the oldest units, whenever they were taken.
	Taken int64
	// Share is for AtMost: ⌊room/Share⌋ units are taken at most, though one if
	// one passes. 0 and 1 take all.
	Share int64
	// Ahead is for AtMost on a log: the units are entered so many µs after now,
	// until when they can be spent.
	Ahead int64

	Outcome Outcome
	Write   bool
	TTL     int64

	// behind is how far the clock is behind the state's own: the state is decided
	// on as then, and waits and resets add it.
	behind int64
	// moved is what is stored after the clock was set back far, even by a refusal.
	moved *State
}

// Allow charges every step or none. It reports whether the request passes.
func Allow(steps []Step, t Instant) bool {
	allowed := probe(steps, t)
	for i := range steps {
		s := &steps[i]
		if allowed && s.Cost > 0 {
			s.Outcome.After = s.behind + s.State.charge(s.Limit, s.instant(t), s.Cost, s.Ahead)
			s.Write, s.moved = true, nil
		}
	}
	if !allowed {
		punish(steps, t, (*Step).count)
	}
	for i := range steps {
		steps[i].finish(t)
	}
	return allowed
}

// Peek answers as Allow would, with the state before it, and writes nothing.
func Peek(steps []Step, t Instant) bool {
	allowed := probe(steps, t)
	if !allowed {
		punish(steps, t, (*Step).countCopy)
	}
	for i := range steps {
		s := &steps[i]
		s.report(t)
		s.Write = false
	}
	return allowed
}

// AtMost takes as many units as pass now, up to the steps' cost, which is the
// same for all that have one. Granting none is a refusal of 1 unit.
func AtMost(steps []Step, t Instant) (granted int64) {
	granted = Never
	for i := range steps {
		s := &steps[i]
		s.settle(t)
		if s.Cost > 0 {
			granted = min(granted, s.Cost, s.share(s.State.room(s.Limit, s.instant(t))))
		}
	}
	if granted == Never {
		granted = 0
	}
	for i := range steps {
		if steps[i].Cost > 0 {
			steps[i].Cost = max(1, granted)
		}
	}
	Allow(steps, t)
	return granted
}

// share returns what may be taken of what there is.
func (s *Step) share(room int64) int64 {
	if s.Share <= 1 {
		return room
	}
	return max(min(room, 1), room/s.Share)
}

// Give returns each step's cost to its limit. A bucket takes back up to what it
// can hold; a window or log, up to what it counts.
func Give(steps []Step, t Instant) {
	for i := range steps {
		s := &steps[i]
		absent := s.State.Absent()
		s.settle(t)
		if s.Write = !absent && s.Cost > 0; s.Write {
			s.State.give(s.Limit, s.instant(t), s.Cost, s.Taken)
			s.settle(t) // what is left may be behind the clock
			s.moved = nil
		}
		s.finish(t)
	}
}

// probe settles every step and finds each one's wait.
func probe(steps []Step, t Instant) (allowed bool) {
	allowed = true
	for i := range steps {
		s := &steps[i]
		s.settle(t)
		s.wait(t)
		if s.Cost > 0 && s.Outcome.Wait == 0 {
			s.Outcome.Delay = s.State.delay(s.Limit, s.Cost)
		}
		allowed = allowed && s.Outcome.Wait == 0
	}
	if !allowed {
		for i := range steps {
			steps[i].Outcome.Delay = 0
		}
	}
	return allowed
}

// settle brings the state to now, or to its own time where the clock is behind
// that. A step without a cost takes part without writing anything.
func (s *Step) settle(t Instant) {
	behind, far := s.State.behind(s.Limit, t)
	if far {
		behind = 0
		s.State.pull(s.Limit, t)
		moved := s.State
		s.moved, s.Write = &moved, s.Write || s.Cost > 0
	}
	s.behind = behind
	s.State.settle(s.Limit, s.instant(t))
}

// instant is the instant at which the state is decided on.
func (s *Step) instant(t Instant) Instant {
	return Instant{Now: t.Now + s.behind, Wall: t.Wall + s.behind}
}

func (s *Step) wait(t Instant) {
	o := &s.Outcome
	o.Wait, o.Window = s.State.wait(s.Limit, s.instant(t), s.Cost)
	if o.Wait > 0 && o.Wait != Never {
		o.Wait += s.behind
	}
}

// punish counts a refused request on the limits that count refusals, and finds
// their waits again. A request that can never pass is counted nowhere.
func punish(steps []Step, t Instant, count func(*Step, Instant)) {
	for i := range steps {
		if steps[i].Outcome.Wait == Never {
			return
		}
	}
	for i := range steps {
		if s := &steps[i]; s.Limit.CountDenied && s.Cost > 0 {
			count(s, t)
		}
	}
}

func (s *Step) count(t Instant) {
	s.State.penalize(s.Limit, s.instant(t), s.Cost)
	s.Write, s.moved = true, nil
	s.wait(t)
}

// countCopy finds the wait that count would, and leaves the state as it was.
func (s *Step) countCopy(t Instant) {
	before := s.State
	s.State.unshare()
	s.count(t)
	s.State = before
}

func (s *Step) finish(t Instant) {
	s.report(t)
	if !s.Write {
		return
	}
	if s.moved != nil {
		s.State, s.behind = *s.moved, 0
	}
	if s.TTL = s.State.ttl(s.Limit, s.instant(t)); s.TTL > 0 {
		s.TTL += s.behind
	}
}

func (s *Step) report(t Instant) {
	s.State.report(s.Limit, s.instant(t), &s.Outcome)
	if s.Outcome.Reset > 0 {
		s.Outcome.Reset += s.behind
	}
}

// Binding returns the step that decided: refused, the longest wait; allowed,
// the least remaining, then the longest reset; the first of equals. Limits that
// limit nothing do not take part unless there are no others.
func Binding(steps []Step, allowed bool) int {
	best := -1
	for i := range steps {
		if steps[i].Limit.Algorithm == Unlimited {
			continue
		}
		if best < 0 || tighter(&steps[i].Outcome, &steps[best].Outcome, allowed) {
			best = i
		}
	}
	return max(0, best)
}

func tighter(a, b *Outcome, allowed bool) bool {
	if !allowed {
		return a.Wait > b.Wait
	}
	return a.Remaining < b.Remaining || a.Remaining == b.Remaining && a.Reset > b.Reset
}

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
