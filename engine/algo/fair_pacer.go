package algo

// fairPacer is a pacer whose burst and queue are divided fairly among the keys that request them. Its requests leave in
// the order of arrival, so a key's part of the queue is its part of the rate.
var fairPacer = algorithm{
	name:   "fair-pacer",
	code:   "fp",
	fields: []string{"burst", "max_queue", "weight", "nested", "name"},
	properties: properties{
		refills:      true,
		oneByOne:     true,
		divides:      true,
		keepsReturns: true,
		delays:       true, // its callers wait anyway
		// Its denials are not repeated, because the queue keeps moving. Its units are not prefetched, because each unit
		// has a place in the queue, and other keys may need it.
	},
	on: fairShare.on,
	// A process does not know the keys of other processes, so a share is one pacer for all keys.
	shares: func(l *Limit, n int64) []Share {
		own := l.pacer()
		share := pacer.shares(&own, n)
		share[0].SameAlgorithm = false
		return share
	},
	grid:  fairShare.grid,
	delay: pacer.delay,
	spare: pacer.spare,
	giveHeld: func(s *State, l *Limit, t Instant, n int64, h *Held, r *Returns) {
		(*fair)(s).returned(func() { giveSlot(s, l, t, n, h, r) })
	},
	upperBound:  func(l *Limit) (Limit, bool) { return l.pacer(), true },
	mostCharged: (*Limit).depthUnits,
	sharesBound: (*Limit).pacersBound,
}

// pacer returns the pacer that a lone key would need to get as much as all keys together.
func (l *Limit) pacer() Limit {
	return Limit{Algorithm: Pacer, Count: l.Count, Period: l.Period, Burst: l.Burst, Queue: l.Queue, HasQueue: true}
}
