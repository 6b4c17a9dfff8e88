package scenarios

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// most is the maximum number of units in a limit: 2^48 − 1.
const most = 281474976710655

const hundredYears = 36525 * 24 * time.Hour

var (
	slowest   = rule.TokenBucket(rule.Per(most, hundredYears))
	overdrawn = rule.TokenBucket(rule.Per(most, ms), rule.AllowDebt(most))
	queueing  = rule.Pacer(rule.Per(most, ms), rule.MaxQueue(most))
	warmest   = rule.WarmUp(rule.Per(most, ms), 2*ms, rule.Burst(most))
	daily     = rule.FixedWindow(rule.PerDay(most))
	minutely  = rule.SlidingWindow(rule.PerMinute(most), rule.Weighted())
	// perSecond and perThousand are two versions of one limit.
	perSecond   = rule.SlidingWindow(rule.PerSecond(most), rule.SegmentLength(second), rule.Lenient())
	perThousand = rule.SlidingWindow(rule.Per(most, 1000*second), rule.SegmentLength(second), rule.Strict())
	// budget is 1 000 000 dollars a month, in micro-dollars.
	budget = rule.FixedWindow(engine.Rate{Count: 1_000_000_000_000, Months: 1}, rule.Align("UTC"))
)

// fullSeconds returns steps that charge a window's whole limit in each of n seconds.
func fullSeconds(n int) (steps []step) {
	for range n {
		steps = append(steps, take(perSecond, most, yes(0, second)).in(second))
	}
	return steps
}

// oneByOne returns steps that charge one unit in each of n seconds.
func oneByOne(n int) (steps []step) {
	for i := range n {
		steps = append(steps, take(perThousand, 1, yes(most-1-int64(i), 1001*second)).in(second))
	}
	return steps
}

// chargedAndGiven returns steps that charge and give back the remaining units of a window, n times.
func chargedAndGiven(n int) (steps []step) {
	for range n {
		steps = append(steps, take(perThousand, most-1, yes(0, 1001*second)), take(perThousand, most-1, yes(most-1, 1001*second)).as(engine.OpGive))
	}
	return steps
}

// Cases with the largest accepted parameters.
var _ = register([]scenario{
	{
		name: "the largest bucket", why: "rule 1: 2^48-1 units in 100 years refill one in 11.21 µs",
		steps: []step{
			take(slowest, most, yes(0, hundredYears)),
			take(slowest, 1, no(0, 12*time.Microsecond, hundredYears)),
			take(slowest, 1, no(0, time.Microsecond, hundredYears-11*time.Microsecond)).in(11 * time.Microsecond),
			take(slowest, 1, yes(0, hundredYears)).in(time.Microsecond),
			take(slowest, most, yes(most, 0)).as(engine.OpGive),
		},
	},
	{
		name: "the largest debt", why: "rule 1: capacity and debt together have 2^49 units",
		steps: []step{
			take(overdrawn, 2*most, yes(0, 2*ms)),
			take(overdrawn, 1, no(0, 1001*time.Microsecond, 2*ms)),
			take(overdrawn, 1, no(0, time.Microsecond, ms)).in(ms),
			take(overdrawn, most, yes(0, 2*ms-time.Microsecond)).in(time.Microsecond),
		},
	},
	{
		name: "the longest queue", why: "rule 1: a pacer queues 2^48-1 units",
		steps: []step{
			take(queueing, most+1, want{allowed: true, reset: 1001 * time.Microsecond, delay: ms}),
			take(queueing, 1, no(0, time.Microsecond, 1001*time.Microsecond)),
			take(queueing, 1, want{allowed: true, reset: ms, delay: ms}).in(time.Microsecond),
		},
	},
	{
		name: "the largest warm-up", why: "rule 1: a ramp of 2^48-1 units costs twice the time of warm ones",
		steps: []step{
			take(warmest, most, yes(0, 2*ms)),
			take(warmest, 1, no(0, time.Microsecond, 2*ms)),
			take(warmest, most, yes(0, ms)).in(2 * ms),
		},
	},
	{
		name: "a count of 2^32", why: "a fixed window that counts beyond 2^32-1 and back is the same window",
		steps: []step{
			take(daily, 1<<32-1, yes(281470681743360, 24*time.Hour)),
			take(daily, 1, yes(281470681743359, 24*time.Hour)),
			take(daily, most, no(281470681743359, 24*time.Hour, 24*time.Hour)),
			take(daily, 1, yes(281470681743360, 24*time.Hour)).as(engine.OpGive),
			take(daily, 281470681743360, yes(0, 23*time.Hour)).in(time.Hour),
			take(daily, 1, no(0, 23*time.Hour, 23*time.Hour)),
			take(daily, most, yes(0, 24*time.Hour)).in(23 * time.Hour),
			take(daily, 1, no(0, 24*time.Hour, 24*time.Hour)).in(-48 * time.Hour),
		},
	},
	{
		name: "a weight of half the largest window", why: "rule 3: of 2^48-1 units half have expired, rounded down",
		steps: []step{
			take(minutely, most, yes(0, 2*time.Minute)),
			take(minutely, 140737488355328, no(140737488355327, time.Microsecond, 30*second)).in(90 * second),
			take(minutely, 140737488355327, yes(0, 90*second)),
		},
	},
	{
		name: "40 times the largest window", why: "a window counts exactly what versions charged in its segments, up to 2^52 units; the oldest go first",
		steps: append(append(oneByOne(100), fullSeconds(40)...),
			take(perThousand, 1, no(0, 1001*second, 1001*second)),
			take(perThousand, 15*most, yes(0, 1001*second)).as(engine.OpGive),
			take(perThousand, 17, yes(1, 1001*second)).as(engine.OpGive),
			take(perThousand, 2, no(1, 1001*second, 1001*second)),
			take(perThousand, 1, yes(0, 1001*second)),
		),
	},
	{
		name: "the largest window again and again", why: "what is charged and given back adds up to more than 2^53, and no unit is lost",
		steps: append([]step{take(perThousand, 1, yes(most-1, 1001*second))}, append(chargedAndGiven(40),
			take(perThousand, most, no(most-1, 1001*second, 1001*second)), take(perThousand, most-1, yes(0, 1001*second)))...),
	},
	{
		name: "a budget of a million dollars", why: "micro-dollars of a month are counted one by one",
		steps: []step{
			take(budget, 999_999_999_997, yes(3, 31*24*time.Hour)),
			take(budget, 4, no(3, 31*24*time.Hour, 31*24*time.Hour)),
			take(budget, 3, yes(0, 24*time.Hour)).in(30 * 24 * time.Hour),
			take(budget, 1, no(0, 24*time.Hour, 24*time.Hour)),
			take(budget, 1, yes(999_999_999_999, 28*24*time.Hour)).in(24 * time.Hour),
		},
	},
})
