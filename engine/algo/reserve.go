package algo

// Held is the part of a reservation for one limit. A settlement needs only Held and the limit with which the
// reservation was made.
type Held struct {
	// Units is the number of units charged.
	Units int64
	// At is the instant from which the units count: the handle for a give.
	At int64
	// Reported is the number of units reported as used so far: those beyond Units are charged, and no reported units
	// are given back.
	Reported int64
	// Slot is the instant until which the caller waits. It equals At if there is no delay.
	Slot int64
	// Ends is the instant when a bucket has refilled everything that was missing after the charge. From then on, none
	// of the charge is left to give back.
	Ends int64
}

// Reserve charges every step or none, like Allow, but token buckets and pacers also grant units that refill later: the
// caller then waits for Outcome.Delay, which is at most longest µs. A token bucket delays its caller only if
// [Limit.Delays] holds for all other steps. It does not hold for a window, because a window counts units when they are
// charged. A token bucket does not delay while its state refills at another version's rate: its charge would end a faster
// rate and make promised delays longer, and a slower rate stays until the callers that wait for it have their slots.
// If there are choices, token buckets never delay, because another choice may have enough units now.
//
// If the delay would be longer, the request is denied, and Outcome.Delay is the delay that would have been necessary.
// Outcome.Wait is then the time after which the same request passes, or Never if even an unused pacer would delay it for
// longer.
func Reserve(steps []Step, t Instant, longest int64) bool {
	delays := true
	for i := range steps {
		delays = delays && steps[i].Limit.Delays() && steps[i].Choice == 0
	}
	settle(steps, t)
	for i := range steps {
		s := &steps[i]
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

// hold charges the step's cost for a reservation: as a permit if the algorithm has permits, and like a request
// otherwise.
func (s *Step) hold(t Instant) {
	if hold := s.Limit.Algorithm.entry().hold; hold != nil {
		hold(&s.State, s.Limit, s.instant(t), s.holder(s.Holder), s.Cost)
		s.Write, s.moved = true, nil
		return
	}
	s.charge(t, s.Cost, 0)
	if promise := s.Limit.Algorithm.entry().promise; promise != nil && s.Outcome.Delay > 0 {
		promise(&s.State, s.Limit, s.Outcome.Delay)
	}
}

// Delays reports whether the limit can delay its callers instead of denying them, or at least lets other limits do so.
func (l *Limit) Delays() bool { return traits[l.Algorithm].delays }

// reserve turns a wait for a bucket's units into a delay, if the caller accepts it.
func (s *Step) reserve(delays bool, longest int64) {
	o := &s.Outcome
	switch {
	case s.Limit.Algorithm.entry().delay != nil:
		s.queue(longest)
		return
	case o.Wait == 0:
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

// queue sets the wait of a reservation of a limit that always delays: it lasts until the request passes, and its delay is
// at most as long as the caller accepts. If even an unused limit would delay the cost for longer, the request never
// passes.
func (s *Step) queue(longest int64) {
	o, delay := &s.Outcome, s.delay()
	unused := Step{Limit: s.Limit, Cost: s.Cost, State: State{bucket: fresh(s.Limit, 0)}}
	switch longest = s.Limit.LongestDelay(longest); {
	case o.Wait == Never:
	case delay <= longest:
		if o.Wait == 0 {
			o.Delay = delay
		}
	case unused.delay() > longest:
		o.Wait, o.Delay = Never, delay
	default:
		o.Wait, o.Delay = max(o.Wait, delay-longest+s.behind), delay
	}
}

// lends reports whether units may be charged before they have refilled.
func (s *Step) lends() bool {
	lends := s.Limit.Algorithm.entry().lends
	return lends != nil && lends(&s.State, s.Limit)
}

// LongestDelay returns the longest delay of a reservation, in µs, if its caller accepts delays up to longest.
func (l *Limit) LongestDelay(longest int64) int64 {
	if bound := l.Algorithm.entry().longestDelay; bound != nil {
		return bound(l, longest)
	}
	return longest
}

// Settle ends a reservation. Each step contains its Held and, as Cost, the number of units used (0 for a permit). If
// fewer were used, the rest is given back to the window, segment, entry or bucket that was charged. If more were used,
// the difference is charged now, even beyond the limit, but by at most one capacity, which for several windows is the
// largest. Callers are denied until the excess has refilled or expired. If the reservation is not open, because it has
// ended or was settled before, Settle changes nothing and only fills in the outcomes.
//
// Settle returns the number of units that could not be charged, on the step where this number is largest.
//
// If report is set, Settle leaves the reservation open. It charges used units beyond the charge, gives nothing back,
// and sets Held.Reported.
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
				s.charge(t, units, 0)
			}
		case used < s.Held.Units && !report && !absent:
			s.giveHeld(t, s.Held.Units-used)
			s.Write = true
			s.settle(t) // the remaining units may be ahead of the clock
			s.moved = nil
		}
		if report && open {
			s.Held.Reported = used
		}
		s.finish(t)
	}
	return dropped
}

// spare returns the number of units that a settlement can still charge.
func (s *Step) spare(t Instant) int64 {
	if spare := s.Limit.Algorithm.entry().spare; spare != nil {
		return spare(&s.State, s.Limit, s.instant(t))
	}
	return s.arithmetic.room(s.Limit, s.instant(t))
}

// giveHeld gives n units of a reservation back to the window, segment, entry or bucket that was charged.
func (s *Step) giveHeld(t Instant, n int64) {
	e := s.Limit.Algorithm.entry()
	if e.release != nil {
		e.release(&s.State, s.holder(s.Holder))
		return
	}
	if giveHeld := e.giveHeld; giveHeld != nil {
		giveHeld(&s.State, s.Limit, s.instant(t), n, s.Held, &s.Returns)
		return
	}
	s.arithmetic.give(s.Limit, s.instant(t), n, s.Held)
}
