package algo

// Bucket is the state of a token bucket or a pacer.
//
// It keeps what is missing from a full bucket, in units of 1/Period token, so
// that one microsecond refills exactly Count of them and no fraction is ever
// lost. Missing may exceed the capacity: by what is queued (pacer) or owed
// (debt). Count and Period are those it was written under.
type Bucket struct {
	Missing uint128
	Count   int64
	Period  int64
	At      int64
}

// full is B·P: the amount of a full bucket.
func full(l *Limit) uint128 { return product(l.Burst, l.Period) }

// deepest is the largest amount that can be missing: a full bucket plus what
// may be queued or owed. A pacer's longest wait is as good as a queue of
// MaxWait·L, because ⌈x/L⌉ ≤ MaxWait iff x ≤ MaxWait·L.
func deepest(l *Limit) uint128 {
	b := full(l)
	if l.Algorithm == TokenBucket {
		return b.plus(product(l.Queue, l.Period))
	}
	queue, wait := product(l.Queue, l.Period), product(l.MaxWait, l.Count)
	if !l.HasQueue || l.HasWait && wait.less(queue) {
		queue = wait
	}
	return b.plus(queue)
}

// Depth returns the largest amount that can be missing from a bucket or pacer,
// what may be owed or queued included: whole tokens, and 1/Period parts of one.
// It is for stores that decide elsewhere.
func (l *Limit) Depth() (whole, part int64) { return deepest(l).over(l.Period) }

// RefillTime returns how long a bucket takes to fill from empty, in µs, rounded
// up.
func (l *Limit) RefillTime() int64 { return full(l).ceilOver(l.Count) }

func (b *Bucket) settle(l *Limit, t Instant) (corrected bool) {
	if b.Count == 0 {
		*b = Bucket{Count: l.Count, Period: l.Period, At: t.Now}
		return false
	}
	// First by the stored numbers, then under the limit's own (rule 10).
	b.refill(t.Now)
	if b.Count != l.Count || b.Period != l.Period {
		b.convert(l)
		corrected = true
	}
	if d := deepest(l); d.less(b.Missing) {
		// Written even if refused, or the wait found under the smaller
		// capacity would start again from the larger debt at each retry.
		b.Missing, corrected = d, true
	}
	return b.setBack(l, t.Now) || corrected
}

// refill adds what has come in between b.At and now.
func (b *Bucket) refill(now int64) {
	elapsed := now - b.At
	if elapsed < 0 {
		return
	}
	if elapsed >= b.Missing.ceilOver(b.Count) {
		b.Missing = uint128{}
	} else {
		b.Missing = b.Missing.minus(product(elapsed, b.Count))
	}
	b.At = now
}

// setBack deals with a clock that shows less than the bucket's own (rule 8). If
// that is no more than a refill of the bucket or of its queue takes, the bucket
// waits for the clock to come round: b.At stays ahead of now, and waits and
// resets add that. Otherwise it goes on from now with what it had, so that a
// clock set back by an hour empties nobody's bucket.
func (b *Bucket) setBack(l *Limit, now int64) (corrected bool) {
	ahead := b.At - now
	if ahead <= max(full(l).ceilOver(l.Count), b.Missing.ceilOver(l.Count)) {
		return false
	}
	b.At = now
	return true
}

// convert restates what is missing under the limit's own numbers, rounding
// against the caller (rule 10). Whole tokens and the fraction go apart, because
// Missing·P′ may exceed 128 bits.
func (b *Bucket) convert(l *Limit) {
	tokens, fraction := b.Missing.over(b.Period)
	b.Missing = product(tokens, l.Period).plus(uint128{lo: uint64(product(fraction, l.Period).ceilOver(b.Period))})
	b.Count, b.Period = l.Count, l.Period
}

// ahead is how far the bucket's clock is beyond now.
func (b *Bucket) ahead(t Instant) int64 { return max(0, b.At-t.Now) }

func (b *Bucket) wait(l *Limit, t Instant, cost int64) int64 {
	price, depth := product(cost, l.Period), deepest(l)
	if depth.less(price) {
		return Never
	}
	over := b.Missing.plus(price).minus(depth)
	if l.Algorithm == TokenBucket && l.Queue > 0 {
		// A debtor waits until something is there: a > 0.
		if positive := b.Missing.plus(uint128{lo: 1}).minus(full(l)); over.less(positive) {
			over = positive
		}
	}
	if over.isZero() {
		return 0
	}
	return over.ceilOver(l.Count) + b.ahead(t)
}

// delay is how long a pacer's caller, once admitted, waits before going on. It
// is the distance between slots: after the clock was set back it does not add
// the time until the bucket's own clock is reached again, as waits do, because
// MaxWait is a promise about it.
func (b *Bucket) delay(l *Limit, cost int64) int64 {
	if l.Algorithm != Pacer {
		return 0
	}
	late := b.Missing.plus(product(cost, l.Period)).minus(full(l))
	return late.ceilOver(l.Count)
}

func (b *Bucket) room(l *Limit, _ Instant) int64 {
	if l.Algorithm == TokenBucket && l.Queue > 0 && !b.Missing.less(full(l)) {
		return 0
	}
	units, _ := deepest(l).minus(b.Missing).over(l.Period)
	return units
}

func (b *Bucket) charge(l *Limit, _ Instant, cost int64) {
	b.Missing = b.Missing.plus(product(cost, l.Period))
}

func (b *Bucket) give(l *Limit, _ Instant, n int64) {
	b.Missing = b.Missing.minus(product(n, l.Period))
}

func (b *Bucket) report(l *Limit, t Instant, o *Outcome) {
	o.Limit = l.Burst
	o.Remaining, _ = full(l).minus(b.Missing).over(l.Period)
	o.Reset = b.ttl(l, t)
}

func (b *Bucket) ttl(l *Limit, t Instant) int64 {
	if b.Missing.isZero() {
		return 0
	}
	return b.Missing.ceilOver(l.Count) + b.ahead(t)
}
