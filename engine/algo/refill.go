package algo

// Interval returns the time between two units that refill one by one, in µs. ok is false if units do not refill one
// by one, or if the time is not a whole number.
func (l *Limit) Interval() (us int64, ok bool) {
	if !traits[l.Algorithm].oneByOne || l.Period%l.Count != 0 {
		return 0, false
	}
	return l.Period / l.Count, true
}

// Refilled returns the largest number of units that can refill in a span, given in µs. The number is rounded up. If
// the units do not refill one by one, the span may be at most 15 s. The result is 0 for a limit that does not refill.
func (l *Limit) Refilled(us int64) int64 {
	switch {
	case !l.Algorithm.Refills():
		return 0
	case traits[l.Algorithm].oneByOne:
		return product(us, l.Count).ceilOver(l.Period)
	default:
		return (us/l.Period + 1) * max(l.Count, l.Max) // at most 15 000 periods
	}
}

// LeastLeft returns the smallest number of units that a limit can have when it will be full in us µs. It is 0 for a limit
// whose units do not refill one by one.
func (l *Limit) LeastLeft(us int64) int64 {
	if !traits[l.Algorithm].oneByOne {
		return 0
	}
	return max(0, l.Capacity()-l.Refilled(us))
}

// RefillsWithin returns the longest time that a refill can take, in µs. The argument us is the time that it would take
// if units refilled one by one. Units that refill together arrive up to a period later.
func (l *Limit) RefillsWithin(us int64) int64 {
	if !traits[l.Algorithm].oneByOne {
		us = max(us, l.Period) + l.Period
	}
	return us + l.WarmUp
}

// UpperBound returns a limit that admits at least as much as l in any state of l. ok is false if there is no such limit,
// or if l has no units to count.
func (l *Limit) UpperBound() (bound Limit, ok bool) {
	if find := l.Algorithm.entry().upperBound; find != nil {
		return find(l)
	}
	return *l, !l.Algorithm.Holds() && !l.Algorithm.Constant()
}
