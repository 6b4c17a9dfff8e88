package algo

// MaxAhead is how many units may be reserved before they are in a token bucket: as many
// as a pacer's queue may hold.
const MaxAhead = 1<<32 - 1

// Held is what a reservation holds of one limit. Its numbers and the limit that it was
// made under are all that a settlement needs.
type Held struct {
	// Units is how many units were charged.
	Units int64
	// Taken is the instant at which the units count: the handle of a give.
	Taken int64
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
// faster rate of another version, because the charge would make its delays longer.
//
// If the delay would be longer, the request is denied, and Outcome.Delay says how long it
// would have been.
func Reserve(steps []Step, t Instant, longest int64) bool {
	allowed, delays := true, true
	for i := range steps {
		delays = delays && steps[i].Limit.Delays()
	}
	for i := range steps {
		s := &steps[i]
		s.settle(t)
		s.wait(t)
		if s.Cost > 0 {
			s.reserve(delays, longest)
		}
		allowed = allowed && s.Outcome.Wait == 0
	}
	for i := range steps {
		s := &steps[i]
		if allowed && s.Cost > 0 {
			s.Outcome.After = s.behind + s.State.charge(s.Limit, s.instant(t), s.Cost, 0)
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

// Delays reports whether the limit can delay its callers, instead of denying them, and
// does not keep other limits from it.
func (l *Limit) Delays() bool {
	return l.Algorithm == TokenBucket || l.Algorithm == Pacer || l.Algorithm == Unlimited
}

// reserve turns a wait for a bucket's units into a delay, if the caller accepts it.
func (s *Step) reserve(delays bool, longest int64) {
	o := &s.Outcome
	switch {
	case o.Wait == 0:
		o.Delay = s.State.delay(s.Limit, s.Cost)
	case o.Wait != Never && delays && s.Limit.Algorithm == TokenBucket && s.State.bucket.under(s.Limit):
		o.Delay = o.Wait - s.behind
	default:
		return
	}
	o.Wait = 0
	if longest = s.Limit.LongestDelay(longest); o.Delay > longest {
		o.Wait = o.Delay - longest + s.behind
	}
}

// LongestDelay returns the longest delay of a reservation, in µs, if its caller accepts
// longest: no token bucket has more than MaxAhead units reserved ahead.
func (l *Limit) LongestDelay(longest int64) int64 {
	if l.Algorithm != TokenBucket {
		return longest
	}
	if l.NextPays {
		longest = min(longest, century/2) // its cost comes on top
	}
	span, _ := product(MaxAhead, l.Period).over(l.Count)
	return min(longest, span)
}

// Settle ends a reservation: each step has what it held, and as Cost the units that were
// used in the end. Less than was charged is given back, each to the window, segment,
// entry or bucket that it was charged to. More is charged now, as far as the limit has
// room, a bucket's debt and a pacer's queue included. If the reservation is not open,
// because it has ended or was settled before, Settle only reports.
func Settle(steps []Step, t Instant, open bool) {
	for i := range steps {
		s := &steps[i]
		absent := s.State.Absent()
		s.settle(t)
		s.Write = false
		more := s.Cost - s.Held.Units
		switch {
		case !open || more == 0:
		case more > 0:
			if units := min(more, s.State.spare(s.Limit, s.instant(t))); units > 0 {
				s.Outcome.After = s.behind + s.State.charge(s.Limit, s.instant(t), units, 0)
				s.Write, s.moved = true, nil
			}
		case !absent:
			s.State.giveHeld(s.Limit, s.instant(t), -more, s.Held)
			s.Write = true
			s.settle(t) // the remaining units may be behind the clock
			s.moved = nil
		}
		s.finish(t)
	}
}

// spare returns how many units can still be charged, a bucket's debt included.
func (s *State) spare(l *Limit, t Instant) int64 {
	if l.Algorithm != TokenBucket && l.Algorithm != Pacer {
		return s.room(l, t)
	}
	depth := s.bucket.deepest(l)
	if l.NextPays {
		depth = s.bucket.full(l).plus(product(l.Most(), s.bucket.Period))
	}
	units, _ := depth.minus(s.bucket.Missing).over(s.bucket.Period)
	return units
}

// giveHeld returns n units of a reservation to where they were charged.
func (s *State) giveHeld(l *Limit, t Instant, n int64, h *Held) {
	switch l.Algorithm {
	case TokenBucket, Pacer:
		s.bucket.giveHeld(l, t.Now, n, h)
	case WarmUp:
		s.warmth.giveHeld(l, t, n, h)
	default:
		s.give(l, t, n, h.Taken)
	}
}

// giveHeld returns n units of a reservation: no more than are still missing of the charge
// if older charges refill first, and no more than leaves the slots of later callers where
// they are. The units that wait in slots behind the reservation are not given back,
// because their callers have their slots already. A pacer gives back only before the
// reservation's own slot.
func (b *Bucket) giveHeld(l *Limit, now, n int64, h *Held) {
	left := h.Ends - now // the time in which the rest of the charge refills
	if left <= 0 || l.Algorithm == Pacer && now >= h.Slot {
		return
	}
	whole, part := product(h.Ends-h.Taken, l.Count).over(l.Period)
	if !b.under(l) {
		part, _ = product(part, b.Period).over(l.Period)
	}
	// At a rate that another version has made faster, it may have refilled since then.
	back := product(whole, b.Period).plus(uint128{lo: uint64(part)}).minus(product(max(0, now-h.Taken), b.Count))
	if all := product(n, b.Period); all.less(back) {
		back = all
	}
	if rest := product(n, b.Period).minus(b.behindReservation(l, left)); rest.less(back) {
		back = rest
	}
	b.Missing = b.Missing.minus(back)
}

// behindReservation returns the amount that waits in slots behind a reservation whose
// charge refills within left µs. It counts in whole µs, rounded up.
func (b *Bucket) behindReservation(l *Limit, left int64) uint128 {
	waiting := b.Missing.minus(b.full(l))
	if !b.under(l) {
		return waiting // the rate has changed: any of it may be behind
	}
	later := b.Missing.ceilOver(b.Count) - left
	if later <= 0 {
		return uint128{}
	}
	if charged := product(later, b.Count).plus(uint128{lo: uint64(b.Count - 1)}); charged.less(waiting) {
		return charged
	}
	return waiting
}
