package algo

// warmUp is a token bucket that starts slowly.
var warmUp = algorithm{
	name:   "warm-up",
	code:   "wu",
	fields: []string{"warm_up", "burst", "next_pays", "name"},
	properties: properties{
		refills:      true,
		oneByOne:     true, // slower while it is cold, but never faster
		keepsReturns: true,
		// A warm-up does not lend, because the price of units depends on when they are charged. For the same reason,
		// its denials are not repeated and its units are not prefetched: each request must be decided at its own time.
	},
	on: func(s *State) arithmetic { return &s.warmBucket },
	// A share is computed from the full rate, because no process knows how warm the limit is.
	shares: bucketShares,
	// Versions with different rates or warm-up times would charge different prices for a unit, so both are part of the
	// counter's name.
	grid: func(l *Limit) Grid {
		return Grid{Count: l.Count, Period: l.Period, WarmUp: l.WarmUp}
	},
	spare: func(s *State, l *Limit, t Instant) int64 {
		twice := *l
		twice.Burst *= 2
		return s.warmBucket.room(&twice, t)
	},
	// The bound is a bucket with the warm-up's full rate.
	upperBound: func(l *Limit) (Limit, bool) {
		return Limit{Algorithm: TokenBucket, Count: l.Count, Period: l.Period, Burst: l.Burst}, true
	},
	giveHeld: func(s *State, l *Limit, t Instant, n int64, h *Held, r *Returns) {
		s.warmBucket.giveHeld(l, t, n, h, r)
	},
}

// warmState holds the bucket of a state. The pointer is nil in a state without one.
type warmState struct{ *WarmBucket }

func (s *warmState) rewind(_ *Limit, t Instant) { s.WarmBucket = s.rewound(t) }
func (s *warmState) settle(l *Limit, t Instant) { s.WarmBucket = s.settled(l, t) }
func (s *warmState) decode(d *decoder) {
	s.WarmBucket = &WarmBucket{Missing: d.uint128(), Units: d.natural(), Count: d.positive(), Period: d.positive(), At: d.integer()}
}

// WarmBucket is the state of a warm-up limit: a token bucket whose tokens refill slowly at first, and faster with each
// unit that passes. Like [Bucket] it uses units of 1/Period token, and its rate is part of the counter's name.
type WarmBucket struct {
	// Missing is the price of the missing tokens: the time until the bucket is full, times Count.
	Missing uint128
	// Units is the number of units that have passed since the limit was cold. Once the bucket has been full, Units is
	// at most twice the ramp.
	Units  int64
	Count  int64
	Period int64
	At     int64
}

// coldFactor is the ratio between the refill times of a cold limit's first token and a warm limit's token, as in
// Guava's RateLimiter.
const coldFactor = 3

// mostUnits bounds WarmBucket.Units. It is more than the number of units that can be missing.
const mostUnits = 1 << 52

// Ramp returns the number of units that make a cold limit warm. It is half of the units that pass in the warm-up time
// at the full rate, because a unit takes twice as long, on average, while the limit warms up.
func (l *Limit) Ramp() int64 {
	units, _ := product(l.WarmUp, l.Count).over(2 * l.Period)
	return units
}

// priceTo returns the price of the first v units after the limit was cold: 3·v·P − ⌊P·v²/R⌋ on the ramp of R units,
// and P for each later unit. Therefore units cost the same whether they are charged one by one or together.
func (l *Limit) priceTo(v int64) uint128 {
	ramp := l.Ramp()
	if v >= ramp {
		return product(ramp+v, l.Period)
	}
	whole, part := product(v, v).over(ramp)
	saved, _ := product(part, l.Period).over(ramp)
	return product(coldFactor*v, l.Period).minus(product(whole, l.Period).plus(uint128{lo: uint64(saved)}))
}

// price returns the price of the units from from+1 to to. Units before 0 count as passed while the limit was cold.
func (l *Limit) price(from, to int64) uint128 {
	if from < 0 {
		return l.priceTo(to).plus(product(-coldFactor*from, l.Period))
	}
	return l.priceTo(to).minus(l.priceTo(from))
}

// below counts units back from unit v. It returns the largest number of units, at most n, whose total price is less
// than the amount.
func (l *Limit) below(amount uint128, v, n int64) int64 {
	least := int64(0)
	for n > least {
		middle := least + (n-least+1)/2
		if l.price(v-middle, v).less(amount) {
			least = middle
		} else {
			n = middle - 1
		}
	}
	return least
}

func (w *WarmBucket) absent() bool { return w == nil || w.Units == 0 && w.Missing.isZero() }

// fill returns the time until the bucket is full.
func (w *WarmBucket) fill() int64 { return w.Missing.ceilOver(w.Count) }

// behind returns how far the clock is behind the state's instant (rule 8). far is set if this is longer than it takes
// to refill a cold limit's capacity and the missing amount.
func (w *WarmBucket) behind(l *Limit, t Instant) (us int64, far bool) {
	if w.absent() || w.At <= t.Now {
		return 0, false
	}
	us = w.At - t.Now
	return us, us > max(l.priceTo(l.Burst).ceilOver(l.Count), w.fill())
}

// rewound returns the state for use after the clock was set back a long way.
func (w *WarmBucket) rewound(t Instant) *WarmBucket {
	c := *w
	c.At = t.Now
	return &c
}

// settled returns the state at an instant. No state means a cold and full bucket. The instant stored for a full bucket
// is the instant when it became full.
func (w *WarmBucket) settled(l *Limit, t Instant) *WarmBucket {
	if w.absent() {
		return &WarmBucket{Count: l.Count, Period: l.Period, At: t.Now}
	}
	c := *w
	if full := w.fill(); t.Now-w.At >= full {
		c.Missing, c.At, c.Units = uint128{}, w.At+full, min(w.Units, 2*l.Ramp())
		if c.warm(l, t) == 0 {
			return &WarmBucket{Count: l.Count, Period: l.Period, At: t.Now}
		}
		return &c
	}
	c.Missing, c.At = w.Missing.minus(product(t.Now-w.At, w.Count)), t.Now
	return &c
}

// warm returns the number of passed units that still warm the limit. Like Guava's RateLimiter, a limit whose bucket has
// been full for more than a quarter of the warm-up time cools down by the units that would have refilled since it
// became full.
func (w *WarmBucket) warm(l *Limit, t Instant) int64 {
	idle := t.Now - w.At
	if !w.Missing.isZero() || idle <= l.WarmUp/4 {
		return w.Units
	}
	return max(0, w.Units-product(idle, l.Count).ceilOver(l.Period))
}

// depth returns the largest amount that may be missing for a cost to pass. It is the price of the part of the burst
// that is left after the cost.
func (w *WarmBucket) depth(l *Limit, t Instant, cost int64) uint128 {
	if l.NextPays {
		cost = 0
	}
	v := w.warm(l, t)
	return l.price(v+cost-l.Burst, v)
}

func (w *WarmBucket) wait(l *Limit, t Instant, cost int64) (wait int64, window int) {
	if !l.NextPays && cost > l.Burst || l.NextPays && cost > l.Most() {
		return Never, 0
	}
	return w.Missing.minus(w.depth(l, t, cost)).ceilOver(l.Count), 0
}

func (w *WarmBucket) room(l *Limit, t Instant) int64 {
	switch {
	case !l.NextPays:
		return w.remaining(l, t)
	case w.depth(l, t, 0).less(w.Missing):
		return 0
	default:
		return l.Most()
	}
}

// remaining returns the burst less the missing tokens. Each missing token counts until its price is paid.
func (w *WarmBucket) remaining(l *Limit, t Instant) int64 {
	if w.Missing.isZero() {
		return l.Burst
	}
	return max(0, l.Burst-1-l.below(w.Missing, w.warm(l, t), l.Burst))
}

func (w *WarmBucket) charge(l *Limit, t Instant, cost, _ int64) (after int64) {
	v := w.warm(l, t)
	w.Missing = w.Missing.plus(l.price(v, v+cost))
	w.Units, w.At = min(v+cost, mostUnits), t.Now
	return 0
}

// give gives back the n units that were charged last. If the bucket is full, it gives nothing back.
func (w *WarmBucket) give(l *Limit, t Instant, n int64, _ *Held) {
	if w.Missing.isZero() {
		return
	}
	n = min(n, w.Units)
	w.Missing = w.Missing.minus(l.price(w.Units-n, w.Units))
	w.Units -= n
}

// giveHeld returns up to n units of a reservation: those that are not followed by later charges in the bucket, and
// whose price is not paid yet.
func (w *WarmBucket) giveHeld(l *Limit, t Instant, n int64, h *Held, r *Returns) {
	left := h.Ends - t.Now
	if left <= 0 || w.Missing.isZero() {
		return
	}
	all := r.list(w.Period, t.Now)
	rest, one := product(left, l.Count).minus(earlier(all, h)), uint128{lo: 1}
	after := w.Missing.minus(rest)
	if w.Missing.less(rest) {
		rest = w.Missing
	}
	v := w.Units - l.below(after.plus(one), w.Units, w.Units)
	missing, ends := w.Missing, t.Now+w.fill()
	w.give(l, t, l.below(rest.plus(one), v, min(n, v)), nil)
	back := missing.minus(w.Missing)
	if ordered := w.Count <= w.Period; !back.isZero() && (!ordered || !after.isZero()) {
		*r = returnsOf(added(all, returned{until: t.Now, ends: ends, waits: noPlace, amount: back}, h, ordered), w.Period)
	}
}

func (w *WarmBucket) report(l *Limit, t Instant, o *Outcome) {
	o.Limit, o.Remaining, o.Reset = l.Burst, w.remaining(l, t), 0
	if !w.Missing.isZero() {
		o.Reset = w.fill()
	}
}

// ttl returns the time until the bucket is full and cold.
func (w *WarmBucket) ttl(l *Limit, t Instant) int64 {
	if w.absent() {
		return 0
	}
	return w.At + w.fill() + w.cools(l) - t.Now
}

// cools returns the time until a full bucket is cold.
func (w *WarmBucket) cools(l *Limit) int64 {
	span, _ := product(min(w.Units, 2*l.Ramp())-1, l.Period).over(l.Count)
	return max(span, l.WarmUp/4) + 1
}

func (w *WarmBucket) append(to []byte) []byte {
	return integers(w.Missing.append(to), w.Units, w.Count, w.Period, w.At)
}
