package algo

// longestLoan bounds the delay of a token bucket: at most MaxUnits units are reserved ahead, as many as a pacer's
// queue may hold.
func (l *Limit) longestLoan(longest int64) int64 {
	if l.NextPays {
		longest = min(longest, century/2) // its cost comes on top
	}
	span, _ := product(MaxUnits, l.Period).over(l.Count)
	return min(longest, span)
}

// spare returns how many units can be charged beyond a reservation: the room of a debt or a queue, and one capacity.
func (b *Bucket) spare(l *Limit) int64 {
	depth := b.deepest(l).plus(b.full(l))
	if l.NextPays {
		depth = b.full(l).plus(product(l.Most(), b.Period))
	}
	units, _ := depth.minus(b.Missing).over(b.Period)
	return units
}

// giveHeld returns n units of a reservation: at most the part of the charge that is still missing if older charges
// refill first, and only as much as leaves the slots of later callers unchanged. Units in slots after the reservation
// are not given back, because their callers already have their slots.
func (b *Bucket) giveHeld(l *Limit, now, n int64, h *Held) {
	left := h.Ends - now // the time in which the rest of the charge refills
	if left <= 0 {
		return
	}
	whole, part := product(h.Ends-h.Taken, l.Count).over(l.Period)
	if !b.under(l) {
		part, _ = product(part, b.Period).over(l.Period)
	}
	// If another version has made the rate faster, it may have refilled since then.
	back := product(whole, b.Period).plus(uint128{lo: uint64(part)}).minus(product(max(0, now-h.Taken), b.Count))
	if all := product(n, b.Period); all.less(back) {
		back = all
	}
	if rest := product(n, b.Period).minus(b.behindReservation(l, left)); rest.less(back) {
		back = rest
	}
	b.Missing = b.Missing.minus(back)
}

// behindReservation returns the amount waiting in slots after a reservation whose charge refills within left µs. It
// counts in whole µs, rounded up.
func (b *Bucket) behindReservation(l *Limit, left int64) uint128 {
	waiting := b.Missing.minus(b.full(l))
	if !b.under(l) {
		return waiting // the rate has changed, so all of it may be later
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
