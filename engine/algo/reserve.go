package algo

// Held is what a reservation holds of one limit. Its numbers and the limit that it was
// made under are all that a settlement needs.
type Held struct {
	// Units is how many units were charged.
	Units int64
	// Taken is the instant at which the units count: the handle of a give.
	Taken int64
	// Reported is how many units the caller has reported as used so far: those beyond Units are charged,
	// and none of them is given back.
	Reported int64
	// Slot is the instant before which the caller waits. It equals Taken where there is
	// no delay.
	Slot int64
	// Ends is the instant at which a bucket has refilled all that was missing from it
	// after the charge. From then on nothing of the charge is left to give back.
	Ends int64
}

// Reserve charges every step or none, as Allow does, and also where a token bucket or a
// pacer has the units only later: the caller then waits for Outcome.Delay, which is at
// most longest µs. A token bucket delays only where all other steps are buckets or pacers
// too, because a window counts units when they are charged, and not while it is under a
// faster rate of another version, because the charge would make its delays longer. With
// choices no token bucket delays: another choice may have the units now.
//
// If the delay would be longer, the request is denied, and Outcome.Delay says how long it
// would have been.
func Reserve(steps []Step, t Instant, longest int64) bool {
	delays := true
	for i := range steps {
		delays = delays && steps[i].Limit.Delays() && steps[i].Choice == 0
	}
	for i := range steps {
		s := &steps[i]
		s.settle(t)
		s.wait(t)
		if s.Cost > 0 {
			s.reserve(delays, longest)
		}
	}
	allowed := Pass(steps)
	for i := range steps {
		s := &steps[i]
		if allowed && s.Cost > 0 {
			s.hold(t)
			s.Write, s.moved = true, nil
		}
	}
	if !allowed {
		for i := range steps {
			if o := &steps[i].Outcome; o.Wait == 0 {
				o.Delay = 0
			}
		}
		punish(steps, t, (*Step).count)
	}
	for i := range steps {
		steps[i].finish(t)
	}
	return allowed
}

// hold charges a reservation.
func (s *Step) hold(t Instant) {
	if hold := s.Limit.Algorithm.entry().hold; hold != nil {
		hold(&s.State, s.Limit, s.instant(t), s.Holder, s.Cost)
		return
	}
	s.Outcome.After = s.behind + s.arithmetic.charge(s.Limit, s.instant(t), s.Cost, 0)
}

// Delays reports whether the limit can delay its callers, instead of denying them, and
// does not keep other limits from it.
func (l *Limit) Delays() bool { return traits[l.Algorithm].delays }

// reserve turns a wait for a bucket's units into a delay, if the caller accepts it.
func (s *Step) reserve(delays bool, longest int64) {
	o := &s.Outcome
	switch {
	case o.Wait == 0:
		o.Delay = s.delay()
	case o.Wait != Never && delays && s.lends():
		o.Delay = o.Wait - s.behind
	default:
		return
	}
	o.Wait = 0
	if longest = s.Limit.LongestDelay(longest); o.Delay > longest {
		o.Wait = o.Delay - longest + s.behind
	}
}

// lends reports whether units may be charged before they are there.
func (s *Step) lends() bool {
	lends := s.Limit.Algorithm.entry().lends
	return lends != nil && lends(&s.State, s.Limit)
}

// LongestDelay returns the longest delay of a reservation, in µs, if its caller accepts
// longest.
func (l *Limit) LongestDelay(longest int64) int64 {
	if bound := l.Algorithm.entry().longestDelay; bound != nil {
		return bound(l, longest)
	}
	return longest
}

// Settle ends a reservation: each step has what it held, and as Cost the units that were
// used in the end, which of a permit is none. Less than was charged is given back, each to the window, segment,
// entry or bucket that it was charged to. More is charged now, also beyond the limit: by one capacity at
// most, that of the largest of several windows. Callers are denied until it has left. If the
// reservation is not open, because it has ended or was settled before, Settle only reports.
//
// dropped is the most units of a step that could not be charged.
//
// A report leaves the reservation open. It charges what was used beyond what is charged, gives nothing back, and sets
// Held.Reported.
func Settle(steps []Step, t Instant, open, report bool) (dropped int64) {
	for i := range steps {
		s := &steps[i]
		absent := s.State.Absent()
		s.settle(t)
		s.Write = false
		used := max(s.Cost, s.Held.Reported)
		more := used - max(s.Held.Units, s.Held.Reported)
		switch {
		case !open:
		case more > 0:
			units := min(more, s.spare(t))
			dropped = max(dropped, more-units)
			if units > 0 {
				s.Outcome.After = s.behind + s.arithmetic.charge(s.Limit, s.instant(t), units, 0)
				s.Write, s.moved = true, nil
			}
		case used < s.Held.Units && !report && !absent:
			s.giveHeld(t, s.Held.Units-used)
			s.Write = true
			s.settle(t) // the remaining units may be behind the clock
			s.moved = nil
		}
		if report && open {
			s.Held.Reported = used
		}
		s.finish(t)
	}
	return dropped
}

// spare returns how many units can still be charged by a settlement.
func (s *Step) spare(t Instant) int64 {
	if spare := s.Limit.Algorithm.entry().spare; spare != nil {
		return spare(&s.State, s.Limit, s.instant(t))
	}
	return s.arithmetic.room(s.Limit, s.instant(t))
}

// giveHeld returns n units of a reservation to where they were charged.
func (s *Step) giveHeld(t Instant, n int64) {
	e := s.Limit.Algorithm.entry()
	if e.release != nil {
		e.release(&s.State, s.Holder)
		return
	}
	if giveHeld := e.giveHeld; giveHeld != nil {
		giveHeld(&s.State, s.Limit, s.instant(t), n, s.Held)
		return
	}
	s.arithmetic.give(s.Limit, s.instant(t), n, s.Held.Taken)
}
