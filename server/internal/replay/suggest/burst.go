package suggest

import (
	"math"
	"slices"

	"github.com/headgate/headgate/engine"
)

// neededBurst returns the smallest burst with which a token bucket with this rate denies none of a key's requests. It
// is the maximum level of an unbounded leaky bucket that gains one unit per request and drains at the rate, computed
// in integers.
func neededBurst(times []int64, rate engine.Rate) int64 {
	if len(times) == 0 {
		return 0
	}
	period, count := rate.Period.Microseconds(), rate.Count // in units of 1/period: a request adds period, and each µs drains count
	level, highest, last := int64(0), int64(0), times[0]
	for _, t := range times {
		if gone := t - last; gone >= level/count+1 {
			level = 0
		} else {
			level = max(0, level-gone*count)
		}
		last = t
		level += period
		highest = max(highest, level)
	}
	return (highest + period - 1) / period
}

// neededBursts returns the smallest burst that is enough for all keys at the given rate, except for the given share
// of the keys.
func neededBursts(g *groups, keys []int, rate engine.Rate, share float64) int64 {
	needs := make([]int64, len(keys))
	parallel(len(keys), func(_, from, to int) {
		for n := from; n < to; n++ {
			needs[n] = neededBurst(g.of(keys[n]), rate)
		}
	})
	return upTo(needs, share)
}

// upTo returns the smallest of the values such that at most the given share of the values are larger. It returns 1 if
// there are no values. For a share of 1 it returns the minimum. It sorts values in place.
func upTo(values []int64, share float64) int64 {
	if len(values) == 0 {
		return 1
	}
	slices.Sort(values)
	beyond := int(math.Floor(share * float64(len(values))))
	return values[max(0, len(values)-1-beyond)]
}
