package scenarios

import (
	"slices"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

var (
	warming     = rule.WarmUp(rule.PerSecond(2), 4*second)
	warmingMany = rule.WarmUp(rule.PerSecond(2), 4*second, rule.Burst(5))
	warmingPays = rule.WarmUp(rule.PerSecond(2), 4*second, rule.NextPays())
	warmingFast = rule.WarmUp(rule.Per(1<<32-1, ms), ms, rule.Burst(1<<32-1), rule.NextPays())
)

// guavaPrices lists the prices of the eight units in testWarmUp of Guava's RateLimiterTest: each is the wait of the next
// acquire. With 2 permits a second and a warm-up of 4 s, Guava's acquires wait 0, 1.38, 1.13, 0.88, 0.63, 0.50, 0.50 and
// 0.50 s. The last price, which that test does not show, is 0.50 s too.
var guavaPrices = []time.Duration{1375 * ms, 1125 * ms, 875 * ms, 625 * ms, 500 * ms, 500 * ms, 500 * ms, 500 * ms}

// acquires returns steps that take units one by one: the first unit after a pause, and each further unit as soon as it
// passes. A unit's price is the wait for the next unit.
func acquires(pause time.Duration, prices ...time.Duration) (steps []step) {
	for i, price := range prices {
		steps = append(steps, take(warming, 1, yes(0, price)).in(pause))
		if i%3 == 0 {
			steps = append(steps, take(warming, 1, no(0, price, price)), take(warming, 1, no(0, time.Microsecond, time.Microsecond)).in(price-time.Microsecond))
			price = time.Microsecond
		}
		pause = price
	}
	return steps
}

// cold returns the price of the first units of warmingMany. The fourth unit is the last one on the ramp.
func cold(units int) (price time.Duration) {
	for i := range units {
		price += guavaPrices[min(i, 7)]
	}
	return price
}

var _ = register([]scenario{
	{
		name: "warm-up of Guava", why: "the sequence of its own test: cold, idle for 4 s and cold again",
		steps: append(acquires(0, guavaPrices...), acquires(4500*ms, guavaPrices...)...),
	},
	{
		name: "warm-up after half its time", why: "Guava's own test: idle for 2 s, it is still warm",
		steps: append(acquires(0, guavaPrices...), acquires(2500*ms, 500*ms, 500*ms, 500*ms)...),
	},
	{
		name: "no cooling in a quarter of its time", why: "a limit that is used now and then stays warm",
		steps: append(acquires(0, guavaPrices[:5]...), acquires(1500*ms, 500*ms, 500*ms)...),
	},
	{
		name: "cooling after a quarter of its time", why: "it then cools by what refills in all the time since it was full",
		steps: append(acquires(0, guavaPrices[:5]...), acquires(1500*ms+time.Microsecond, 875*ms, 625*ms, 500*ms)...),
	},
	{
		name: "no cooling is put off by a give", why: "only an admitted take keeps a limit warm: a full bucket has nothing to take back",
		steps: slices.Concat(
			acquires(0, guavaPrices[:5]...),
			[]step{take(warming, 1, yes(1, 0)).as(engine.OpGive).in(time.Second)},
			acquires(500*ms+time.Microsecond, 875*ms, 625*ms, 500*ms),
		),
	},
	{
		name: "warm-up together", why: "units cost the same together and one by one",
		steps: []step{
			take(warmingMany, 2, yes(3, cold(2))),
			take(warmingMany, 3, yes(0, cold(5))),
			take(warmingMany, 1, no(0, cold(1), cold(5))),
			take(warmingMany, 6, no(0, never, cold(5))),
			take(warmingMany, 2, no(0, cold(2)-time.Second, cold(5)-time.Second)).in(time.Second),
			take(warmingMany, 1, no(0, time.Microsecond, cold(5)-cold(1)+time.Microsecond)).in(375*ms - time.Microsecond),
			take(warmingMany, 5, want{allowed: true, remaining: 0, reset: cold(6) - cold(1), granted: 1}).as(engine.OpAtMost).in(time.Microsecond),
		},
	},
	{
		name: "warm-up and give", why: "given units are the last ones, and cost what they cost",
		steps: []step{
			take(warmingMany, 1, yes(5, 0)).as(engine.OpGive),
			take(warmingMany, 5, yes(0, cold(5))),
			take(warmingMany, 2, yes(2, cold(3))).as(engine.OpGive),
			take(warmingMany, 9, yes(5, 0)).as(engine.OpGive),
			take(warmingMany, 1, yes(4, cold(1))),
			take(warmingMany, 1, yes(5, 0)).as(engine.OpGive).in(2 * second),
			take(warmingMany, 1, yes(4, cold(2)-cold(1))),
		},
	},
	{
		name: "warm-up whose next request pays", why: "its price is that of all its units",
		steps: []step{
			take(warmingPays, 10, yes(0, cold(10))),
			take(warmingPays, 1, no(0, cold(10)-500*ms, cold(10))),
			take(warmingPays, 4, want{reset: cold(10), retry: cold(10) - 500*ms}).as(engine.OpAtMost),
			take(warmingPays, 1<<60, no(0, never, cold(10))),
			take(warmingPays, 1, yes(0, time.Second)).in(cold(10) - 500*ms),
			take(warmingPays, 4, want{allowed: true, remaining: 0, reset: 2500 * ms, granted: 4}).as(engine.OpAtMost).in(500 * ms),
		},
	},
	{
		name: "warm-up and a clock set back", why: "rule 8: a little is waited for; farther than a refill takes, the state moves to now",
		steps: []step{
			take(warmingPays, 10, yes(0, cold(10))),
			take(warmingPays, 1, no(0, cold(10)+4500*ms, cold(10)+5*second)).in(-5 * second),
			take(warmingPays, 9, yes(0, cold(1))).as(engine.OpGive),
			take(warmingPays, 1, yes(0, cold(2)-time.Second)).in(time.Second),
			take(warmingPays, 1, no(0, 375*ms, 1500*ms)).in(-time.Hour),
			take(warmingPays, 1, yes(0, 500*ms+cold(3)-cold(2))).in(time.Second),
		},
	},
	{
		name: "reserve and settle in a warm-up", why: "it delays nobody; a cancel gives back what no later charge follows",
		steps: []step{
			take(warmingMany, 3, yes(2, cold(3))).reserve(0),
			take(warmingMany, 1, yes(1, cold(4))),
			take(warmingMany, 2, no(1, cold(1), cold(4))).reserve(time.Hour),
			settle(1, 0, yes(4, cold(1))),
			again(1, 0, yes(4, cold(1))),
			take(warmingMany, 4, yes(0, cold(5))).reserve(0),
			settle(6, 1, yes(3, cold(2))),
			take(warmingMany, 3, yes(0, cold(5))).reserve(0),
			settle(8, 3, yes(0, cold(5))),
			take(warmingMany, 1, yes(0, cold(6)-2*second)).in(2 * second).reserve(0),
			settle(10, 0, yes(1, cold(5)-2*second-300*ms)).in(300 * ms),
		},
	},
	{
		name: "commit more in a warm-up", why: "up to twice the burst is charged, and callers wait until it has refilled",
		steps: []step{
			take(warmingMany, 3, yes(2, cold(3))).reserve(0),
			settle(1, 12, yes(0, cold(10))).drops(2),
			take(warmingMany, 1, no(0, cold(10)-2*second, cold(10))),
		},
	},
	{
		name: "cancel what has half refilled", why: "the units that have refilled are not given back, and those of later charges neither",
		steps: []step{
			take(warmingMany, 3, yes(2, cold(3))).reserve(0),
			take(warmingMany, 2, yes(0, cold(5))),
			settle(1, 0, yes(2, cold(4)-2*second)).in(2 * second),
		},
	},
	{
		name: "a warm-up of large numbers", why: "known bug 8: no request passes because a number overflows",
		steps: []step{
			take(warmingFast, 1<<51, yes(0, 524288501*time.Microsecond)),
			take(warmingFast, 1<<51, yes(0, 524289*ms)).in(524287501 * time.Microsecond),
			take(warmingFast, 1<<51, yes(0, 524289*ms)).in(524288 * ms),
			take(warmingFast, 1<<51, yes(0, 524289*ms)).in(524288 * ms),
		},
	},
})
