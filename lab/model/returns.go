package model

import "math/big"

// maxReturns is the maximum number of returns that are remembered individually (section 9).
const maxReturns = 16

// returned describes the units that settlements gave back to a bucket, for one charge or in total for several charges.
type returned struct {
	from  held // the charge, or the first of several charges
	any   bool // the order of the charges at from's instant is unknown
	until int64
	ends  int64
	waits *int64 // when the wait of a caller with an earlier slot may end
	sum   *big.Int
}

// returns lists the units given back to one bucket, in order. Amounts are in units of 1/p token.
type returns struct {
	p   *big.Int
	all []returned
}

// live returns the entries that still have an effect, in units of 1/p token. Fractions are rounded up.
func (r returns) live(p *big.Int, now int64) (kept returns) {
	kept.p = p
	for _, one := range r.all {
		if one.ends > now {
			one.sum = converted(one.sum, r.p, p)
			kept.all = append(kept.all, one)
		}
	}
	return kept
}

// before returns the amount given back since h was charged. It counts only units that were given back for charges
// made before h.
func (r returns) before(h held) *big.Int {
	sum := num(0)
	for _, one := range r.all {
		after := one.from.taken < h.taken || one.from.taken == h.taken && (one.any || one.from.ends < h.ends)
		since := h.taken == one.until && !one.any && h.ends > one.ends
		if after && h.taken <= one.until && !since {
			sum = add(sum, one.sum)
		}
	}
	return sum
}

// waited returns the part of the amount given back since h was charged that was given back while other callers were
// waiting and that these callers may still be waiting for.
func (r returns) waited(h held, now int64) *big.Int {
	sum := num(0)
	for _, one := range r.all {
		if one.until >= h.taken && one.waits != nil && *one.waits > now {
			sum = add(sum, one.sum)
		}
	}
	return sum
}

// with returns the list with another entry appended. ordered is false if charges at the same instant may also end at
// the same time.
func (r returns) with(one returned, ordered bool) returns {
	one.any = !ordered
	for _, other := range r.all {
		if t := one.from.taken; other.from.taken <= t && (other.until == t || other.until > t && other.any) {
			one.any = true
		}
		if other.until == one.until {
			one.ends = max(one.ends, other.ends)
		}
	}
	all := append(append([]returned(nil), r.all...), one)
	if len(all) > maxReturns {
		closest := 1
		for i := 2; i < len(all); i++ {
			if all[i].until-all[i-1].until < all[closest].until-all[closest-1].until {
				closest = i
			}
		}
		a, b := all[closest-1], all[closest]
		both := returned{any: true, from: a.from, until: max(a.until, b.until), ends: max(a.ends, b.ends), waits: a.waits, sum: add(a.sum, b.sum)}
		if b.from.taken < a.from.taken {
			both.from = b.from
		}
		if a.waits == nil || b.waits != nil && *b.waits > *a.waits {
			both.waits = b.waits
		}
		all = append(append(all[:closest-1:closest-1], both), all[closest+1:]...)
	}
	return returns{p: r.p, all: all}
}
