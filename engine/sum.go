package engine

import (
	"cmp"
	"math"

	"github.com/headgate/headgate/engine/algo"
)

// Sum returns the sum of two numbers of units. A sum above 2^63 − 1 is 2^63 − 1, which no limit admits. If one of the
// numbers is negative, which is an error, Sum returns it, so that no other number hides it.
func Sum(a, b int64) int64 {
	switch {
	case min(a, b) < 0:
		return min(a, b)
	case a > math.MaxInt64-b:
		return math.MaxInt64
	default:
		return a + b
	}
}

// StricterThan reports whether l admits less than another version of the same limit: the first difference decides
// between the largest costs that they admit at once, with and without debt or queue, and their rates.
func (l Limit) StricterThan(other Limit) bool {
	a, b := l.Numbers(), other.Numbers()
	return cmp.Or(cmp.Compare(a.Largest(), b.Largest()), cmp.Compare(a.MostCharged(), b.MostCharged()), compareRates(a, b)) < 0
}

// compareRates compares the refill of limits, or the largest of their windows.
func compareRates(a, b *algo.Limit) int {
	if a.Algorithm.Refills() {
		return algo.CompareRates(a, b)
	}
	return cmp.Compare(b.Period, a.Period)
}
