package algo

// Step is one limit of one request during a decision. The store fills in Limit, Cost and the stored State, and calls
// one function, such as [Allow], with all the steps. For each step whose Write is set, it then stores State for TTL µs,
// or deletes the state if TTL is 0.
type Step struct {
	Limit *Limit
	Cost  int64
	State State
	// Choice is the number of the limit's choice: see [Pass]. It is 0 for a limit that always takes part.
	Choice uint8
	// Share is for AtMost, which charges at most ⌊units/Share⌋ of the units that would pass, but at least one unit if
	// any passes. 0 and 1 charge all of them.
	Share int64
	// Ahead is for AtMost on a log: the units are entered at Ahead µs after now, and can
	// be spent until then.
	Ahead int64
	// Holder is for Reserve and Settle: the holder of a concurrency limit's units.
	Holder string
	// KeyHash identifies the request's key, for a limit that divides its units among keys: see [Algorithm.Divides].
	KeyHash uint64
	// Report contains outcomes of earlier requests, for a limit whose rate adapts. For other limits it is nil. It
	// counts even if the request is denied or costs nothing.
	Report *Report
	// Held is for Settle: the reservation's part for this limit. For Give, its At is the handle of the charge to give back:
	// units whose window, segment or entry has expired since then are not given back. If Held is nil, the oldest units
	// are given back.
	Held *Held
	// Returns is for Settle: the record of units that were given back to the bucket. Settle updates it. See
	// [Algorithm.KeepsReturns].
	Returns Returns

	Outcome Outcome
	Write   bool
	TTL     int64

	// arithmetic operates on State. It is nil until the step is settled.
	arithmetic arithmetic
	// behind is how far the clock is behind the state's instant. The decision is made as of that instant, and waits and
	// resets include behind.
	behind int64
	// moved is the state to store, even for a denial, if the clock was set back a long way.
	moved *State
}

// Allow charges every step or none, and reports whether the request passes.
func Allow(steps []Step, t Instant) bool {
	settle(steps, t)
	return allow(steps, t)
}

func settle(steps []Step, t Instant) {
	for i := range steps {
		steps[i].settle(t)
	}
}

// allow is like Allow, for settled steps.
func allow(steps []Step, t Instant) bool {
	allowed := probe(steps, t)
	for i := range steps {
		s := &steps[i]
		if allowed && s.Cost > 0 {
			s.charge(t, s.Cost, s.Ahead)
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

// Peek returns the answer that Allow would return, but reports the state before the charge and writes nothing.
func Peek(steps []Step, t Instant) bool {
	settle(steps, t)
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

// AtMost charges as many units as pass now, up to the steps' cost. The cost must be the same for all steps whose cost
// is not 0. If no unit passes, it denies like an Allow of 1 unit.
func AtMost(steps []Step, t Instant) (granted int64) {
	costs := false
	granted = Never
	settle(steps, t)
	for i := range steps {
		if s := &steps[i]; s.Cost > 0 {
			costs = true
			granted = min(granted, s.Cost, s.share(s.arithmetic.room(s.Limit, s.instant(t))))
		}
	}
	if !costs {
		granted = 0
	}
	for i := range steps {
		if steps[i].Cost > 0 {
			steps[i].Cost = max(1, granted)
		}
	}
	allow(steps, t)
	return granted
}

// share returns the number of units to charge if room units would pass: see Step.Share.
func (s *Step) share(room int64) int64 {
	if s.Share <= 1 {
		return room
	}
	return max(min(room, 1), room/s.Share)
}

// Give returns each step's cost to its limit. A bucket takes back up to its capacity, and a window or log up to its
// count.
func Give(steps []Step, t Instant) {
	for i := range steps {
		s := &steps[i]
		absent := s.State.Absent()
		s.settle(t)
		if s.Write = !absent && s.Cost > 0; s.Write {
			s.arithmetic.give(s.Limit, s.instant(t), s.Cost, s.Held)
			s.settle(t) // the remaining units may be ahead of the clock
			s.moved = nil
		}
		s.finish(t)
	}
}

// probe sets the wait and the delay of each settled step, and reports whether the request passes. If it is denied, no
// step has a delay.
func probe(steps []Step, t Instant) (allowed bool) {
	allowed, choices := true, uint8(0)
	for i := range steps {
		s := &steps[i]
		s.wait(t)
		if s.Cost > 0 && s.Outcome.Wait == 0 {
			s.Outcome.Delay = s.delay()
		}
		allowed, choices = allowed && s.Outcome.Wait == 0, choices|s.Choice
	}
	if choices != 0 {
		allowed = Pass(steps)
	}
	if !allowed {
		for i := range steps {
			steps[i].Outcome.Delay = 0
		}
	}
	return allowed
}

// settle updates the state to now, or to its own instant if the clock is behind it. If the clock is too far behind, it
// first rewinds the state to now. A step without a cost takes part in the decision, but writes nothing except a report.
func (s *Step) settle(t Instant) {
	s.arithmetic = s.Limit.Algorithm.entry().on(&s.State)
	behind, far := s.arithmetic.behind(s.Limit, t)
	if far {
		behind = 0
		s.arithmetic.rewind(s.Limit, t)
		moved := s.State
		s.moved, s.Write = &moved, s.Write || s.Cost > 0
	}
	s.behind = behind
	s.State.algorithm = s.Limit.Algorithm
	s.arithmetic.settle(s.Limit, s.instant(t))
	if s.State.extra != nil {
		s.State.parts.ask(s.KeyHash)
		if s.State.adapted.stepped && s.Cost > 0 { // a denial also stores the new rate, because the answer's wait assumes it
			s.Write, s.moved = true, nil
		}
	}
	if observe := s.Limit.Algorithm.entry().observe; s.Report != nil && observe != nil {
		observe(&s.State, s.Limit, s.instant(t), s.Report)
		s.Write, s.moved = true, nil
	}
}

func (s *Step) instant(t Instant) Instant {
	return Instant{Now: t.Now + s.behind, Wall: t.Wall + s.behind}
}

func (s *Step) wait(t Instant) {
	o := &s.Outcome
	o.Wait, o.Window = 0, 0
	if s.Cost > 0 {
		o.Wait, o.Window = s.arithmetic.wait(s.Limit, s.instant(t), s.Cost)
	}
	if o.Wait > 0 && o.Wait != Never {
		o.Wait += s.behind
	}
}

// delay returns the time that an admitted caller must wait.
func (s *Step) delay() int64 {
	if delay := s.Limit.Algorithm.entry().delay; delay != nil {
		return delay(&s.State, s.Limit, s.Cost)
	}
	return 0
}

// charge spends units. It does nothing for a penalty, which has no units.
func (s *Step) charge(t Instant, units, ahead int64) {
	if s.Limit.Algorithm.Punishes() {
		return
	}
	s.Outcome.After = s.behind + s.arithmetic.charge(s.Limit, s.instant(t), units, ahead)
	s.Write, s.moved = true, nil
}

// punish counts a denied request on the limits that count denials, and computes their waits again. It does not count
// requests that can never pass, or that a penalty denies.
func punish(steps []Step, t Instant, count func(s *Step, t Instant, wait int64)) {
	longest := int64(0)
	for i := range steps {
		o := &steps[i].Outcome
		if o.Wait == Never || o.Wait > 0 && steps[i].Limit.Algorithm.Punishes() {
			return
		}
		longest = max(longest, o.Wait)
	}
	for i := range steps {
		if s := &steps[i]; s.Limit.CountDenied && s.Cost > 0 {
			count(s, t, longest)
		}
	}
}

func (s *Step) count(t Instant, wait int64) {
	if penalize := s.Limit.Algorithm.entry().penalize; penalize != nil {
		penalize(&s.State, s.Limit, s.instant(t), s.Cost, wait)
	}
	s.Write, s.moved = true, nil
	s.wait(t)
}

// countCopy computes the wait that counting the denial would cause, and leaves the state unchanged.
func (s *Step) countCopy(t Instant, wait int64) {
	before := s.State
	if unshare := s.Limit.Algorithm.entry().unshare; unshare != nil {
		unshare(&s.State)
	}
	s.count(t, wait)
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
	if s.TTL = s.arithmetic.ttl(s.Limit, s.instant(t)); s.TTL > 0 {
		s.TTL += s.behind
	}
}

func (s *Step) report(t Instant) {
	s.arithmetic.report(s.Limit, s.instant(t), &s.Outcome)
	if s.Outcome.Reset > 0 {
		s.Outcome.Reset += s.behind
	}
}

// Binding returns the index of the step with the binding limit. For a denial, this is the limit with the longest wait.
// Otherwise it is the limit with the fewest remaining units and, among these, the longest reset. Among equals, it is
// the first. Unlimited steps, and penalties of an allowed request, take part only if there are no others. Steps that
// are set aside never take part.
func Binding(steps []Step, allowed bool) int {
	best := -1
	for i := range steps {
		s := &steps[i]
		switch {
		case s.Outcome.Unchosen:
		case best < 0:
			best = i
		case s.unbound(allowed):
		case steps[best].unbound(allowed) || tighter(&s.Outcome, &steps[best].Outcome, allowed):
			best = i
		}
	}
	return max(0, best)
}

// unbound reports whether the step's limit has no units to report: an unlimited limit, or a penalty that does not deny.
func (s *Step) unbound(allowed bool) bool {
	return s.Limit.Algorithm.AllowsAll() || allowed && s.Limit.Algorithm.Punishes()
}

func tighter(a, b *Outcome, allowed bool) bool {
	if !allowed {
		return a.Wait > b.Wait
	}
	return a.Remaining < b.Remaining || a.Remaining == b.Remaining && a.Reset > b.Reset
}

// Outcome is the answer for one limit. Times are in µs.
type Outcome struct {
	// Limit is the capacity: B of a bucket, L of the binding window.
	Limit int64
	// Remaining is the number of units left, rounded down.
	Remaining int64
	// Wait is the time until the cost passes. It is 0 if the cost passes now, and Never if it never can.
	Wait int64
	// Reset is the time until all units of the limit are available again.
	Reset int64
	// Delay is the time that an admitted caller of a pacer must wait, or the caller of a reservation whose units refill
	// later. After a denied [Reserve], it is the delay that would have been necessary.
	Delay int64
	// After is the time from the decision until the charged units count. It is above 0 if the clock is behind the
	// state, or if a log's newest entry is in the future. The instant when they count is the handle for a give.
	After int64
	// Window is the index of the binding window.
	Window int
	// Rate is the rate in force of a limit whose rate adapts, in 1/1024 units per period, and Version counts the
	// rate's changes since the state began. Both are 0 for other limits.
	Rate, Version int64
	// Strikes is the number of strikes of a penalty that are not forgotten.
	Strikes int64
	// HeldByAll is the number of permits that all keys of a fair-concurrency limit hold, and HeldByKey is the number that the
	// request's key holds. HeavyKeys is ⌊Held² ÷ the sum of the squares of all keys' permits⌋. If n keys hold equal numbers,
	// it is n. All three are 0 for other limits.
	HeldByAll, HeldByKey, HeavyKeys int64
	// Unchosen is set for a step of a choice other than the charged one: see [Pass].
	Unchosen bool
}
