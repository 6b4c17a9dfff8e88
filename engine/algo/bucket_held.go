package algo

// longestLoan bounds the delay of a token bucket, so that at most MaxUnits units are reserved ahead: as many as a
// pacer's queue may hold.
func (l *Limit) longestLoan(longest int64) int64 {
	if l.NextPays {
		longest = min(longest, century/2) // the reservation's own cost is added to this
	}
	span, _ := product(MaxUnits, l.Period).over(l.Count)
	return min(longest, span)
}

// spare returns the number of units that can be charged beyond a reservation: those that could pass now, including debt
// or queue, plus one capacity.
func (b *Bucket) spare(l *Limit) int64 {
	depth := b.deepest(l).plus(b.full(l))
	if l.NextPays {
		depth = b.full(l).plus(product(l.Most(), b.Period))
	}
	units, _ := depth.minus(b.Missing).over(b.Period)
	return units
}

// giveHeld gives back up to n units of a reservation. It gives back at most the part of the charge that is still
// missing if older charges refill first. It also gives back at most the result of free, because later callers
// already have their slots. The record r contains the returns of other settlements.
//
// If only a part is given back before the slot, the reservation stands: its caller still waits, and uses the rest at the
// slot, like a later caller. (With next_pays, a caller's own units count only after its slot.)
func (b *Bucket) giveHeld(l *Limit, now, n int64, h *Held, r *Returns) {
	left := h.Ends - now // the time in which the rest of the charge refills, if no earlier charge was given back
	if left <= 0 {
		return
	}
	all := r.list(b.Period, now)
	before := earlier(all, h)
	whole, part := product(h.Ends-h.At, l.Count).over(l.Period)
	if !b.under(l) {
		part, _ = product(part, b.Period).over(l.Period)
	}
	// If another version has raised the rate, the charge may have refilled since then.
	back := product(whole, b.Period).plus(uint128{lo: uint64(part)}).minus(product(max(0, now-h.At), b.Count)).minus(before)
	back = least(back, product(n, b.Period), b.Missing)
	after := b.chargedAfter(l, left, before)
	one := returned{until: now, ends: now + b.fills(), waits: noPlace}
	stands := traits[l.Algorithm].delays && !l.NextPays && n < h.Units && now < h.Slot
	if waiting := b.Missing.plus(waited(all, now, h)).minus(b.full(l)); stands || traits[l.Algorithm].delays && !after.isZero() && !waiting.isZero() {
		kept := uint128{}
		one.waits = now + waiting.ceilOver(b.Count)
		if stands {
			kept, one.waits = product(h.Units-n, b.Period), max(one.waits, h.Slot)
		}
		back = least(back, b.free(l, after.plus(kept)).minus(waited(all, now, h)))
		after = after.plus(kept)
	}
	if b.slots != nil && !after.isZero() {
		// The last caller may wait under a version with a smaller burst.
		one.waits = now + b.slots.Promised
		back = least(back, b.Missing.minus(product(b.slots.Promised, b.Count)).minus(after))
	}
	if back.isZero() {
		return
	}
	if ordered := b.ordered(l); !ordered || !after.isZero() {
		one.amount = back
		*r = returnsOf(added(all, one, h, ordered), b.Period)
	}
	b.Missing = b.Missing.minus(back)
}

func least(a uint128, others ...uint128) uint128 {
	for _, b := range others {
		if b.less(a) {
			a = b
		}
	}
	return a
}

// ordered reports whether each charge postpones the instant when the bucket is full. This is so if at most one unit
// refills per µs and the rate has not changed.
func (b *Bucket) ordered(l *Limit) bool { return b.under(l) && b.Count <= b.Period }

// chargedAfter returns the part of the missing amount that was charged after a reservation. It rounds up to whole µs.
// The reservation's charge would refill within left µs if the amount before had not been given back for earlier
// charges.
func (b *Bucket) chargedAfter(l *Limit, left int64, before uint128) uint128 {
	if !b.under(l) {
		return b.Missing // the rate has changed, so all of it may have been charged later
	}
	later := product(b.Missing.ceilOver(b.Count), b.Count).plus(before).minus(product(left, b.Count))
	if later.isZero() {
		return later
	}
	return later.plus(uint128{lo: uint64(b.Count - 1)})
}

// free returns the amount that can be given back while callers still wait. The argument waiting is the amount that
// was charged for these callers. A caller continues once the missing amount, including the caller's own units, is at
// most a full bucket. Its units must still be missing at that time. With debt, the caller continues up to 1 µs after
// the bucket is out of debt. With next_pays, the caller continues before its own units count, and no request may
// overtake it.
func (b *Bucket) free(l *Limit, waiting uint128) uint128 {
	full := b.full(l)
	switch {
	case l.NextPays:
		return uint128{}
	case l.HasDebt():
		return least(full.minus(uint128{lo: uint64(b.Count)}), b.deepest(l).minus(waiting))
	default:
		return full.minus(waiting)
	}
}
