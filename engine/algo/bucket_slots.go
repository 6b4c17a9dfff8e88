package algo

// promise notes the delay of a reservation that was charged before its units have refilled.
func (b *Bucket) promise(l *Limit, delay int64) {
	if b.Promised == 0 {
		b.Next = l.rate()
	}
	b.Promised = max(b.Promised, delay)
}

// later returns the rate from the last slot on, for a call under the limit: the faster of Next and the limit's own rate.
func (b *Bucket) later(l *Limit) bucketRate {
	if b.Next.slowerThan(l.rate()) {
		return l.rate()
	}
	return b.Next
}

// refillSlots refills the bucket up to an instant, but at most up to the last slot. There the next rate takes effect,
// which is at least as fast as the limit's own.
func (b *Bucket) refillSlots(l *Limit, now int64) {
	to := max(b.At, min(now, b.At+b.Promised))
	left := b.Promised - (to - b.At)
	b.Missing, b.At, b.Promised, b.Next = b.Missing.minus(product(to-b.At, b.Count)), to, left, b.later(l)
	if left == 0 || b.Missing.isZero() {
		b.convert(b.Next)
		b.Slots = Slots{}
	}
}

// atLastSlot returns the bucket at its last slot, when the next rate takes effect.
func (b *Bucket) atLastSlot() Bucket {
	at := *b
	at.Missing = b.Missing.minus(product(b.Promised, b.Count))
	at.convert(b.Next)
	at.Slots = Slots{}
	return at
}

// refillsLater reports whether an amount has not refilled at the last slot.
func (b *Bucket) refillsLater(amount uint128) bool {
	return b.Promised > 0 && product(b.Promised, b.Count).less(amount)
}

// fills returns the time until the bucket is full.
func (b *Bucket) fills() int64 {
	if b.refillsLater(b.Missing) {
		at := b.atLastSlot()
		return b.Promised + at.Missing.ceilOver(at.Count)
	}
	return b.Missing.ceilOver(b.Count)
}
