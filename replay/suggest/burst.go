package suggest

import (
	"math"
	"slices"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/replay/series"
)

// neededBurst returns the least burst with which a token bucket of a rate refuses none of
// the requests of a key. It is the highest level that a bucket without a bound reaches,
// filled by one unit a request and drained at the rate, in integers.
func neededBurst(times []int64, rate headgate.Rate) int64 {
	if len(times) == 0 {
		return 0
	}
	period, count := rate.Period.Microseconds(), rate.Count // a unit is period, a µs drains count
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

// neededBursts returns the burst that a share of some keys needs at most, at a rate.
func neededBursts(g *series.Groups, keys []int, rate headgate.Rate, share float64) int64 {
	needs := make([]int64, len(keys))
	parallel(len(keys), func(_, from, to int) {
		for n := from; n < to; n++ {
			needs[n] = neededBurst(g.Times(keys[n]), rate)
		}
	})
	return upTo(needs, share)
}

// upTo returns the least value that all but a share of the values do not exceed; with a
// share of all of them it is the least of the values. It sorts the values.
func upTo(values []int64, share float64) int64 {
	if len(values) == 0 {
		return 1
	}
	slices.Sort(values)
	beyond := int(math.Floor(share * float64(len(values))))
	return values[max(0, len(values)-1-beyond)]
}
