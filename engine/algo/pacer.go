package algo

import "math/bits"

// pacer is a bucket that delays requests instead of denying them, up to the length of its queue.
var pacer = algorithm{
	name:   "pacer",
	code:   "pc",
	fields: []string{"burst", "max_wait", "max_queue", "next_pays", "name"},
	properties: properties{
		refills:      true,
		oneByOne:     true,
		twoWords:     true, // as for a token bucket
		keepsReturns: true,
		delays:       true, // its callers wait anyway
	},
	fast: []string{"burst", "max_wait", "max_queue", "name"},
	// Its denials are not repeated, because the queue keeps moving. Its units are not prefetched, because each unit has a
	// place in the queue.
	on: onBucket,
	// Each process has its own queue. Without NextPays, because each process would lend.
	shares: func(l *Limit, n int64) []Share {
		own := *l
		own.Burst, own.Queue, own.NextPays = max(1, l.Burst/n), l.Queue/n, false
		share := slowed(own, n)
		share.SameAlgorithm = true
		return []Share{share}
	},
	// Versions with different rates would order slots differently, so the rate is part of the counter's name.
	grid:        (*Limit).rateGrid,
	delay:       func(s *State, l *Limit, cost int64) int64 { return s.bucket.delay(l, cost) },
	spare:       func(s *State, l *Limit, _ Instant) int64 { return s.bucket.spare(l) },
	giveHeld:    giveSlot,
	mostCharged: (*Limit).depthUnits,
	sharesBound: (*Limit).pacersBound,
	waitByReset: (*Limit).waitForQueue,
}

func (l *Limit) rateGrid() Grid { return Grid{Count: l.Count, Period: l.Period} }

// pacersBound is larger than other limits' bound, because each share has a burst of its own beside its queue.
func (l *Limit) pacersBound(n int64) int64 { return 2*l.depthUnits() + 3*max(0, n-l.Burst) }

// longestQueue returns the largest amount that may be missing beyond a full bucket. A
// pacer's longest wait equals a queue of MaxWait·L, because ⌈x/L⌉ ≤ MaxWait iff
// x ≤ MaxWait·L.
func (b *Bucket) longestQueue(l *Limit) uint128 {
	queue, wait := product(l.Queue, b.Period), product(l.MaxWait, b.Count)
	if !l.HasQueue || l.HasWait && wait.less(queue) {
		queue = wait
	}
	return queue
}

// giveSlot gives units back only before the reservation's own slot, because after the slot the caller has continued.
func giveSlot(s *State, l *Limit, t Instant, n int64, h *Held, r *Returns) {
	if t.Now < h.Slot {
		s.bucket.giveHeld(l, t.Now, n, h, r)
	}
}

// delay returns the time that an admitted caller of a pacer must wait, measured from slot to slot. If the clock has
// been set back, the delay excludes the time until the clock reaches the bucket's instant again, because MaxWait bounds
// the delay. The wait of a denied caller includes that time.
func (b *Bucket) delay(l *Limit, cost int64) int64 {
	late := b.Missing.plus(b.price(l, cost)).minus(b.full(l))
	return late.ceilOver(b.Count)
}

// waitForQueue returns the shortest time until n units can pass: the time until the missing amount is at most the depth
// minus n units.
func (l *Limit) waitForQueue(n, reset int64) int64 {
	whole, part := l.Depth()
	high, low := bits.Mul64(uint64(max(0, whole-n)), uint64(l.Period))
	if high != 0 || low >= 1<<62 || n > whole {
		return 0
	}
	return reset - (int64(low)+part)/l.Count
}
