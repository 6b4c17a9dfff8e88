package model

import (
	"math"
	"math/big"
)

// never is the wait for a cost that cannot pass even if all units are available. It is longer than any other wait (rule
// 5).
const never = math.MaxInt64

func num(n int64) *big.Int { return big.NewInt(n) }

func add(a, b *big.Int) *big.Int { return new(big.Int).Add(a, b) }

func sub(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) }

func mul(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) }

func less(a, b *big.Int) bool { return a.Cmp(b) < 0 }

func smaller(a, b *big.Int) *big.Int {
	if less(b, a) {
		return b
	}
	return a
}

func larger(a, b *big.Int) *big.Int {
	if less(a, b) {
		return b
	}
	return a
}

// bounded returns a number of units, clamped to the range from 0 to never.
func bounded(a *big.Int) int64 { return larger(num(0), smaller(num(never), a)).Int64() }

// floorDiv returns ⌊a/b⌋ for b > 0.
func floorDiv(a, b *big.Int) *big.Int { return new(big.Int).Div(a, b) }

// ceilDiv returns ⌈a/b⌉ for b > 0.
func ceilDiv(a, b *big.Int) *big.Int {
	q := floorDiv(new(big.Int).Neg(a), b)
	return q.Neg(q)
}
