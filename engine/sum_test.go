package engine_test

import (
	"math"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// Sums saturate: 2^63 − 1 + 3 would be negative, and four times 2^62 would be 0.
func TestSum(t *testing.T) {
	for _, c := range []struct{ a, b, want int64 }{
		{1, 2, 3},
		{1 << 62, 1 << 62, math.MaxInt64},
		{math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{math.MaxInt64, 3, math.MaxInt64},
		{math.MaxInt64 - 3, 3, math.MaxInt64},
		{5, -2, -2},
		{-2, 5, -2},
		{-1, math.MinInt64, math.MinInt64},
	} {
		if got := engine.Sum(c.a, c.b); got != c.want {
			t.Errorf("%d + %d: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// The used units of the items of one charge are added up.
func TestSettleEachDoesNotWrap(t *testing.T) {
	r := engine.Reservation{Listed: 3, Limits: []engine.Reserved{{Limit: rule.FixedWindow(rule.PerMinute(10)), Items: 7}}}
	r.Limits[0].Units = 1
	op := r.SettleEach(func(int) int64 { return math.MaxInt64 })
	if op.Charges[0].Cost != math.MaxInt64 {
		t.Errorf("%d units", op.Charges[0].Cost)
	}
}

func TestStricterThan(t *testing.T) {
	for _, c := range []struct{ strict, wide engine.Limit }{
		{rule.TokenBucket(rule.PerSecond(10), rule.Burst(5)), rule.TokenBucket(rule.PerSecond(1), rule.Burst(6))},
		{rule.TokenBucket(rule.PerHour(10)), rule.TokenBucket(rule.PerHour(10), rule.AllowDebt(1))},
		{rule.TokenBucket(rule.PerHour(10)), rule.TokenBucket(rule.PerSecond(10))},
		{rule.SlidingLog(rule.PerMinute(10), rule.And(rule.PerHour(20))), rule.SlidingLog(rule.PerMinute(10), rule.And(rule.PerHour(50)))},
		{rule.SlidingLog(rule.PerHour(10)), rule.SlidingLog(rule.PerMinute(10))},
		{rule.Concurrency(2), rule.Concurrency(3)},
	} {
		if !c.strict.StricterThan(c.wide) || c.wide.StricterThan(c.strict) || c.strict.StricterThan(c.strict) {
			t.Errorf("%s and %s", c.strict, c.wide)
		}
	}
}
