package algo

import "math/bits"

// uint128 is an amount in a bucket. A full bucket holds B·P, its burst times its period in µs. A burst can be 2^48
// units and a period 100 years (about 2^51.5 µs), so B·P needs up to 100 bits.
type uint128 struct{ hi, lo uint64 }

func product(a, b int64) uint128 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return uint128{hi, lo}
}

func (u uint128) isZero() bool { return u.hi|u.lo == 0 }

func (u uint128) less(v uint128) bool {
	return u.hi < v.hi || u.hi == v.hi && u.lo < v.lo
}

func (u uint128) plus(v uint128) uint128 {
	lo, carry := bits.Add64(u.lo, v.lo, 0)
	hi, _ := bits.Add64(u.hi, v.hi, carry)
	return uint128{hi, lo}
}

// minus returns u − v, or 0 if v is larger.
func (u uint128) minus(v uint128) uint128 {
	if u.less(v) {
		return uint128{}
	}
	lo, borrow := bits.Sub64(u.lo, v.lo, 0)
	hi, _ := bits.Sub64(u.hi, v.hi, borrow)
	return uint128{hi, lo}
}

// over returns ⌊u/d⌋ and the remainder. Checked limits cause no quotient above 2^63. For a larger quotient, over
// returns Never instead of wrapping around.
func (u uint128) over(d int64) (quotient, rest int64) {
	if u.hi == 0 {
		q := u.lo / uint64(d)
		if q > uint64(Never) {
			return Never, 0
		}
		return int64(q), int64(u.lo - q*uint64(d))
	}
	if u.hi >= uint64(d) {
		return Never, 0
	}
	q, r := bits.Div64(u.hi, u.lo, uint64(d))
	if q > uint64(Never) {
		return Never, 0
	}
	return int64(q), int64(r)
}

// ceilOver returns ⌈u/d⌉.
func (u uint128) ceilOver(d int64) int64 {
	q, r := u.over(d)
	if r > 0 {
		q++
	}
	return q
}
