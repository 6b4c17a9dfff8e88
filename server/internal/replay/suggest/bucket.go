package suggest

import (
	"math"
	"slices"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// rates are the rates to try, in ascending order.
var rates = func() (all []engine.Rate) {
	for _, n := range []int64{1, 2, 3, 5, 6, 10, 12, 15, 20, 30, 40} {
		all = append(all, engine.Per(n, time.Minute))
	}
	for _, n := range []int64{1, 2, 3, 4, 5, 8, 10, 15, 20, 30, 40, 50, 80, 100, 150, 200, 300, 400, 500, 800, 1000, 2000, 3000, 5000, 10_000, 20_000, 50_000, 100_000} {
		all = append(all, engine.Per(n, time.Second))
	}
	return all
}()

// maxRefill is the maximum time that the suggested bucket takes to refill. Lower rates need larger bursts.
const maxRefill = 2 * time.Minute

// bucket returns the bucket with the lowest rate that refills within maxRefill and leaves the keys alone. If no bucket
// does, it returns the bucket with the highest rate.
func (f *finder) bucket(keys []int) (limit engine.Limit) {
	for _, rate := range rates {
		burst := roundUp(headroom(f.neededBursts(keys, rate)))
		if limit = engine.Bucket(rate, engine.Setting{Field: "burst", Units: burst}); limit.Err() == nil && refill(limit) <= maxRefill {
			break
		}
	}
	return limit
}

// neededBursts returns the smallest burst that is enough for the keys at the given rate, except for the share of them
// that may be denied.
func (f *finder) neededBursts(keys []int, rate engine.Rate) int64 {
	return upTo(f.needs(keys, rate), f.options.Deny)
}

// needs returns the burst that each key needs at the given rate.
func (f *finder) needs(keys []int, rate engine.Rate) []int64 {
	bursts := make([]int64, len(keys))
	parallel(len(keys), func(n int) { bursts[n] = neededBurst(f.times[keys[n]], rate) })
	return bursts
}

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

// denied returns how many of a key's requests a limit denies, using the same steps as the stores. Each request costs
// one unit.
func denied(limit engine.Limit, times []int64) (count int64) {
	if int64(len(times)) <= limit.Capacity() {
		return 0
	}
	var stored algo.State
	var steps [1]algo.Step
	for _, now := range times {
		steps[0] = algo.Step{Limit: limit.Numbers(), Cost: 1, State: stored}
		if !algo.Allow(steps[:], algo.Instant{Now: now, Wall: now}) {
			count++
		}
		if s := &steps[0]; s.Write {
			if stored = s.State; s.TTL <= 0 {
				stored = algo.State{}
			}
		}
	}
	return count
}

// admits returns how many requests from one key a bucket admits within a duration, starting from idle.
func admits(l engine.Limit, d time.Duration) int64 {
	rate := l.Rate(0)
	return l.Capacity() + int64(float64(rate.Count)*d.Seconds()/rate.Period.Seconds())
}

// refill returns how long an empty bucket takes to refill.
func refill(l engine.Limit) time.Duration {
	rate := l.Rate(0)
	return time.Duration(float64(l.Capacity()) / float64(rate.Count) * float64(rate.Period))
}

// headroom returns one and a half times n, because other days may be busier.
func headroom(n int64) int64 { return n + (n+1)/2 }

// roundUp returns the smallest round number that is at least n: 1 to 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80,
// 100, and so on.
func roundUp(n int64) int64 {
	for _, small := range []int64{1, 2, 3, 4, 5, 6, 8, 10} {
		if n <= small {
			return small
		}
	}
	for scale := int64(1); scale < math.MaxInt32; scale *= 10 {
		for _, leading := range []int64{10, 12, 15, 20, 25, 30, 40, 50, 60, 80} {
			if n <= leading*scale {
				return leading * scale
			}
		}
	}
	return n
}
