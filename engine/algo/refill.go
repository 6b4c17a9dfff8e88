package algo

// Interval returns the time between two units that refill one by one, in µs. ok is false if they do not, or if the
// time is not a whole number.
func (l *Limit) Interval() (us int64, ok bool) {
	if !traits[l.Algorithm].oneByOne || l.Period%l.Count != 0 {
		return 0, false
	}
	return l.Period / l.Count, true
}

// Refilled returns the most units that refill in a span of up to 10 s, in µs, rounded up. It is 0 for a limit that
// does not refill.
func (l *Limit) Refilled(us int64) int64 {
	switch {
	case !l.Algorithm.Refills():
		return 0
	case traits[l.Algorithm].oneByOne:
		return product(us, l.Count).ceilOver(l.Period)
	default:
		return (us/l.Period + 1) * max(l.Count, l.Max) // at most 10 000 periods
	}
}

// RefillsWithin returns the longest time of a refill, in µs, if it takes us when units come one by one: units that
// come together come up to a period later.
func (l *Limit) RefillsWithin(us int64) int64 {
	us = max(us, l.Period)
	if !traits[l.Algorithm].oneByOne {
		us += l.Period
	}
	return us + l.WarmUp
}

// Cover returns a limit that admits at least as much as this one in any state of this one. ok is false if there is
// none, or nothing to count.
func (l *Limit) Cover() (cover Limit, ok bool) {
	if find := l.Algorithm.entry().cover; find != nil {
		return find(l)
	}
	return *l, !l.Algorithm.Holds() && !l.Algorithm.Constant()
}
