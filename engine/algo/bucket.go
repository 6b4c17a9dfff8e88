package algo

// tokenBucket also implements GCRA and the leaky bucket used as a meter, because their arithmetic is the same.
var tokenBucket = algorithm{
	name:    "token-bucket",
	code:    "tb",
	aliases: []string{"gcra", "leaky-bucket", "funnel"},
	fields:  []string{"burst", "debt", "next_pays", "name"},
	properties: properties{
		refills:      true,
		oneByOne:     true,
		twoWords:     true, // the missing amount, and the instant
		keepsReturns: true,
		burstIsCount: true, // as users of token buckets expect
		delays:       true, // reserved units may refill later
	},
	fast:         []string{"burst", "name"},
	prefetchable: []string{"burst", "name"}, // tokens are interchangeable
	on:           onBucket,
	shares:       bucketShares,
	// The bucket lends only at its own rate. If another version of the limit with a faster rate wrote the state, a
	// charge under this limit would replace that rate, and lengthen the delays already promised under it.
	lends: func(s *State, l *Limit) bool {
		return s.bucket.under(l) && (s.bucket.slots == nil || s.bucket.slots.Next == l.rate())
	},
	promise:      func(s *State, l *Limit, delay int64) { s.bucket.promise(l, delay) },
	longestDelay: (*Limit).longestLoan,
	spare:        func(s *State, l *Limit, _ Instant) int64 { return s.bucket.spare(l) },
	giveHeld: func(s *State, l *Limit, t Instant, n int64, h *Held, r *Returns) {
		s.bucket.giveHeld(l, t.Now, n, h, r)
	},
	mostCharged: (*Limit).depthUnits,
}

func onBucket(s *State) arithmetic { return &s.bucket }

// StoredBucket returns the state of a token bucket or a pacer from its stored form: the instant of its last change,
// the missing amount in whole tokens and in parts of 1/period token, the rate in force when it was written, and the slots
// that were reserved.
func StoredBucket(a Algorithm, at, whole, part, count, period int64, slots Slots) State {
	missing := product(whole, period).plus(uint128{lo: uint64(part)})
	b := Bucket{Missing: missing, Count: count, Period: period, At: at}
	if slots.Promised > 0 {
		reserved := slots // a copy, so that only these buckets allocate
		b.slots = &reserved
	}
	return State{algorithm: a, bucket: b}
}

// Bucket is the state of a token bucket or a pacer.
//
// It stores the amount missing from a full bucket, in units of 1/Period token, so that one microsecond refills exactly
// Count of these units, without rounding. Missing may exceed the capacity: because of a pacer's queue, debt, or
// spending under another version of the limit. Count and Period are the rate in force when the state was written.
type Bucket struct {
	Missing uint128
	Count   int64
	Period  int64
	At      int64
	slots   *Slots // nil if no caller waits; never changed, only replaced
}

// Slots describes a token bucket while callers wait for reserved slots. Until the last slot no other version changes the
// rate: at a faster rate the units of the waiting callers would refill, and pass once more, before the callers use them
// at their slots.
type Slots struct {
	// Promised is the time from the bucket's instant until the last slot.
	Promised int64
	// Next is the rate from then on: the fastest rate of all charges since.
	Next bucketRate
}

type bucketRate struct{ Count, Period int64 }

func (l *Limit) rate() bucketRate { return bucketRate{l.Count, l.Period} }

func (r bucketRate) slowerThan(of bucketRate) bool {
	return product(r.Count, of.Period).less(product(of.Count, r.Period))
}

// full returns B·P: the content of a full bucket, in the bucket's unit.
func (b *Bucket) full(l *Limit) uint128 { return product(l.Burst, b.Period) }

// deepest returns the largest amount that may be missing after a charge: a full bucket plus the longest queue or the
// largest debt. For a limit with next_pays, it is the largest amount that may be missing before a charge.
func (b *Bucket) deepest(l *Limit) uint128 {
	full := b.full(l)
	switch {
	case l.Algorithm == Pacer:
		return full.plus(b.longestQueue(l))
	case l.NextPays:
		return full
	default:
		return full.plus(product(l.Queue, b.Period))
	}
}

// fresh returns a bucket that is full at the instant now and has the limit's own rate.
func fresh(l *Limit, now int64) Bucket { return Bucket{Count: l.Count, Period: l.Period, At: now} }

// Depth returns the largest amount that can be missing from a bucket or pacer, including debt or queue. The amount is
// a number of whole tokens and a remainder in units of 1/Period token. Stores that do not decide with this package
// use Depth.
func (l *Limit) Depth() (whole, part int64) {
	b := fresh(l, 0)
	return b.deepest(l).over(l.Period)
}

func (b *Bucket) absent() bool { return b.Count == 0 || b.Missing.isZero() }

// slower reports whether the state was written with a slower rate than the limit's.
func (b *Bucket) slower(l *Limit) bool {
	return !b.under(l) && bucketRate{b.Count, b.Period}.slowerThan(l.rate())
}

// under reports whether the state was written with the limit's rate.
func (b *Bucket) under(l *Limit) bool { return b.Count == l.Count && b.Period == l.Period }

// behind returns how far the clock is behind the bucket's instant (rule 8). far is set if us exceeds the time to
// refill the capacity, and also the time to refill the missing amount, at the effective rate: while callers wait, at the
// rate from the last slot on.
func (b *Bucket) behind(l *Limit, t Instant) (us int64, far bool) {
	us = b.At - t.Now
	if us <= 0 || b.absent() {
		return 0, false
	}
	in := *b
	if in.slots != nil {
		in.convert(b.later(l))
	} else {
		in.convertIfSlower(l)
	}
	return us, us > b.promised()+max(in.full(l).ceilOver(in.Count), in.Missing.ceilOver(in.Count))
}

func (b *Bucket) rewind(_ *Limit, t Instant) { b.At = t.Now }

// settle refills the bucket up to the instant at the effective rate: the faster of the rate with which it was written
// and the limit's own (rule 10) or, while callers wait for reserved slots, the rate with which it was written.
func (b *Bucket) settle(l *Limit, t Instant) {
	if b.slots != nil {
		b.refillSlots(l, t.Now)
	}
	if b.absent() {
		*b = fresh(l, t.Now)
		return
	}
	b.convertIfSlower(l)
	b.refill(t.Now)
}

// refill refills the bucket up to an instant at its own rate.
func (b *Bucket) refill(now int64) {
	elapsed := max(0, now-b.At)
	if elapsed >= b.Missing.ceilOver(b.Count) {
		b.Missing = uint128{}
	} else {
		b.Missing = b.Missing.minus(product(elapsed, b.Count))
	}
	b.At = now
}

func (b *Bucket) convertIfSlower(l *Limit) {
	if b.slots == nil && b.slower(l) {
		b.convert(l.rate())
	}
}

// convert expresses the missing amount in another rate and rounds it up, against the caller (rule 10). It
// converts whole tokens and the fraction separately, because Missing·P′ may exceed 128 bits.
func (b *Bucket) convert(to bucketRate) {
	tokens, fraction := b.Missing.over(b.Period)
	b.Missing = product(tokens, to.Period).plus(uint128{lo: uint64(product(fraction, to.Period).ceilOver(b.Period))})
	b.Count, b.Period = to.Count, to.Period
}

// depthUnits returns the largest missing amount in whole units, rounded up. For a limit with next_pays it returns the
// burst, because a cost above the burst never adds up with other costs.
func (l *Limit) depthUnits() int64 {
	if l.NextPays {
		return l.Burst
	}
	units, part := l.Depth()
	if part > 0 {
		units++
	}
	return min(units, mostDepth)
}

// LongestRefill returns how long a limit with a burst takes to refill it, including its debt or queue, in µs. For a
// limit with next_pays it includes only the burst. For an adaptive rate it assumes the smallest rate.
func (l *Limit) LongestRefill() int64 {
	b := fresh(l, 0)
	if l.Algorithm.Adapts() {
		b.Count = l.Min
	}
	if l.NextPays {
		return b.full(l).ceilOver(l.Count)
	}
	return b.deepest(l).ceilOver(b.Count)
}

// mostDepth bounds depthUnits for a pacer with a long wait at a fast rate, so that sums of several depths do not
// overflow.
const mostDepth = 1 << 60

// century is 36525 days in µs.
const century = 36525 * 24 * 3600 * 1_000_000

// Most returns the largest cost that a limit with next_pays accepts. Such a cost refills within 100 years, and stores
// count it exactly.
func (l *Limit) Most() int64 {
	units, _ := product(century, l.Count).over(l.Period)
	return min(units, 1<<51)
}

// price returns the amount that must be in the bucket for a cost to pass.
func (b *Bucket) price(l *Limit, cost int64) uint128 {
	if l.NextPays {
		return uint128{}
	}
	return product(cost, b.Period)
}

// HasDebt reports whether Queue is a debt rather than a pacer's queue.
func (l *Limit) HasDebt() bool { return l.Queue > 0 && !l.HasQueue }

func (b *Bucket) wait(l *Limit, t Instant, cost int64) (wait int64, window int) {
	price, depth := b.price(l, cost), b.deepest(l)
	if depth.less(price) || l.NextPays && cost > l.Most() {
		return Never, 0
	}
	over := b.Missing.plus(price).minus(depth)
	if l.HasDebt() && !l.NextPays {
		// A bucket in debt admits nothing until its content is above zero.
		if positive := b.Missing.plus(uint128{lo: 1}).minus(b.full(l)); over.less(positive) {
			over = positive
		}
	}
	if b.refillsLater(over) {
		at := b.atLastSlot()
		wait, _ = at.wait(l, t, cost)
		return b.slots.Promised + wait, 0
	}
	return over.ceilOver(b.Count), 0
}

func (b *Bucket) room(l *Limit, _ Instant) int64 {
	if l.NextPays {
		if b.deepest(l).less(b.Missing) {
			return 0
		}
		return l.Most()
	}
	if l.HasDebt() && !b.Missing.less(b.full(l)) {
		return 0
	}
	units, _ := b.deepest(l).minus(b.Missing).over(b.Period)
	return units
}

// charge spends the cost. From then on the bucket uses the limit's own rate, unless callers wait for reserved slots.
func (b *Bucket) charge(l *Limit, _ Instant, cost, _ int64) (after int64) {
	if b.slots == nil && !b.under(l) {
		b.convert(l.rate())
	}
	b.Missing = b.Missing.plus(product(cost, b.Period))
	return 0
}

// give returns units to the bucket, which keeps its effective rate.
func (b *Bucket) give(l *Limit, t Instant, n int64, _ *Held) {
	b.Missing = b.Missing.minus(product(n, b.Period))
}

func (b *Bucket) report(l *Limit, t Instant, o *Outcome) {
	o.Limit = l.Burst
	o.Remaining, _ = b.full(l).minus(b.Missing).over(b.Period)
	o.Reset = b.ttl(l, t)
}

// ttl returns the time until the bucket is full.
func (b *Bucket) ttl(*Limit, Instant) int64 {
	if b.slots != nil {
		return b.fills()
	}
	return b.Missing.ceilOver(b.Count)
}

func (b *Bucket) append(to []byte) []byte {
	to = integers(b.Missing.append(to), b.Count, b.Period, b.At, b.promised())
	if b.slots != nil {
		to = integers(to, b.slots.Next.Count, b.slots.Next.Period)
	}
	return to
}

func (b *Bucket) decode(d *decoder) {
	*b = Bucket{Missing: d.uint128(), Count: d.positive(), Period: d.positive(), At: d.integer(), slots: d.slots()}
}
