package algo

// promised returns the time from the bucket's instant until the last slot, or 0 if no caller waits.
func (b *Bucket) promised() int64 {
	if b.slots == nil {
		return 0
	}
	return b.slots.Promised
}

// promise notes the delay of a reservation that was charged before its units have refilled.
func (b *Bucket) promise(l *Limit, delay int64) {
	next := l.rate()
	if b.slots != nil {
		next = b.slots.Next
	}
	b.slots = &Slots{Promised: max(b.promised(), delay), Next: next}
}

// later returns the rate from the last slot on, for a call under the limit: the faster of Next and the limit's own rate.
func (b *Bucket) later(l *Limit) bucketRate {
	if b.slots.Next.slowerThan(l.rate()) {
		return l.rate()
	}
	return b.slots.Next
}

// refillSlots refills the bucket up to an instant, but at most up to the last slot. There the next rate takes effect,
// which is at least as fast as the limit's own.
func (b *Bucket) refillSlots(l *Limit, now int64) {
	to := max(b.At, min(now, b.At+b.slots.Promised))
	left, next := b.slots.Promised-(to-b.At), b.later(l)
	b.Missing, b.At, b.slots = b.Missing.minus(product(to-b.At, b.Count)), to, &Slots{Promised: left, Next: next}
	if left == 0 || b.Missing.isZero() {
		b.convert(next)
		b.slots = nil
	}
}

// atLastSlot returns the bucket at its last slot, when the next rate takes effect.
func (b *Bucket) atLastSlot() Bucket {
	at := *b
	at.Missing = b.Missing.minus(product(b.slots.Promised, b.Count))
	at.convert(b.slots.Next)
	at.slots = nil
	return at
}

// refillsLater reports whether an amount has not refilled at the last slot.
func (b *Bucket) refillsLater(amount uint128) bool {
	return b.slots != nil && product(b.slots.Promised, b.Count).less(amount)
}

// fills returns the time until the bucket is full.
func (b *Bucket) fills() int64 {
	if b.refillsLater(b.Missing) {
		at := b.atLastSlot()
		return b.slots.Promised + at.Missing.ceilOver(at.Count)
	}
	return b.Missing.ceilOver(b.Count)
}

// slots reads reserved slots, or nil if no caller waits.
func (d *decoder) slots() *Slots {
	if promised := d.natural(); promised > 0 {
		return &Slots{Promised: promised, Next: bucketRate{d.positive(), d.positive()}}
	}
	return nil
}
