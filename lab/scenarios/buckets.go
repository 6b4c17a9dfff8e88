package scenarios

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

const (
	ms     = time.Millisecond
	second = time.Second
)

var tenPerSecond = rule.TokenBucket(rule.PerSecond(10))

var _ = register([]scenario{
	{
		name: "one µs", why: "known bug 9: different microseconds are different instants",
		steps: []step{
			take(rule.TokenBucket(rule.PerSecond(1_000_000), rule.Burst(10)), 10, yes(0, 10*time.Microsecond)),
			take(rule.TokenBucket(rule.PerSecond(1_000_000), rule.Burst(10)), 1, yes(0, 10*time.Microsecond)).in(time.Microsecond),
			take(rule.TokenBucket(rule.PerSecond(1_000_000), rule.Burst(10)), 1, no(0, time.Microsecond, 10*time.Microsecond)),
			take(rule.TokenBucket(rule.PerSecond(1_000_000), rule.Burst(10)), 2, yes(0, 10*time.Microsecond)).in(2 * time.Microsecond),
		},
	},
	{
		name: "first request", why: "known bug 1: a float without enough precision gave 8 of 10",
		steps: []step{take(tenPerSecond, 1, yes(9, 100*ms)), take(tenPerSecond, 8, yes(1, 900*ms))},
	},
	{
		name: "a frozen instant", why: "known bug 2: at one instant ten units pass, and the eleventh is denied",
		steps: []step{take(tenPerSecond, 9, yes(1, 900*ms)), take(tenPerSecond, 1, yes(0, second)), take(tenPerSecond, 1, no(0, 100*ms, second))},
	},
	{
		name: "thirds", why: "known bug 3: 3/s is three a second, not 3.000000003; waits are rounded up, so the retry passes",
		steps: []step{
			take(rule.TokenBucket(rule.PerSecond(3)), 3, yes(0, second)),
			take(rule.TokenBucket(rule.PerSecond(3)), 1, no(0, 333334*time.Microsecond, second)),
			take(rule.TokenBucket(rule.PerSecond(3)), 1, no(0, time.Microsecond, 666667*time.Microsecond)).in(333333 * time.Microsecond),
			take(rule.TokenBucket(rule.PerSecond(3)), 1, yes(0, second)).in(time.Microsecond),
		},
	},
	{
		name: "more than fits", why: "known bug 4: a cost above the capacity never passes, and the answer shows the true state",
		steps: []step{
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(5)), 5, yes(0, 5*second)),
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(5)), 6, no(0, never, 5*second)),
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(5)), 1, no(0, second, 5*second)),
		},
	},
	{
		name: "fractions are carried", why: "known bug 10: a fraction of a unit is neither lost nor counted twice",
		steps: []step{
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(3)), 3, yes(0, 3*second)),
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(3)), 3, want{allowed: true, reset: 2100 * ms, granted: 1}).in(1900 * ms).as(engine.OpAtMost),
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(3)), 3, want{allowed: true, reset: 2200 * ms, granted: 2}).in(1900 * ms).as(engine.OpAtMost),
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(3)), 3, want{allowed: true, reset: 2300 * ms, granted: 2}).in(1900 * ms).as(engine.OpAtMost),
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(3)), 3, no(0, 300*ms, 2300*ms)).as(engine.OpAtMost),
		},
	},
	{
		// 7/s and 3/s have one period, also in lowest terms, so a state does not tell them apart by it.
		name: "a slower version of the same period", why: "what was spent under a faster rate refills at it, until the next charge under the slower one",
		steps: []step{
			take(rule.TokenBucket(rule.PerSecond(7)), 7, yes(0, second)),
			take(rule.TokenBucket(rule.PerSecond(3), rule.Burst(7)), 2, yes(0, 2300*ms)).in(300 * ms),
			take(rule.TokenBucket(rule.PerSecond(3), rule.Burst(7)), 1, yes(0, 2333334*time.Microsecond)).in(300 * ms),
		},
	},
	{
		name: "no early expiry", why: "known bug 12: an expiry computed from one unit drops the others too early",
		steps: []step{
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(5)), 1, yes(4, second)),
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(5)), 1, yes(3, 1900*ms)).in(100 * ms),
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(5)), 1, yes(3, 1850*ms)).in(1050 * ms),
		},
	},
	{
		name: "microseconds", why: "known bug 21: a clock in whole seconds is too coarse",
		steps: []step{take(tenPerSecond, 10, yes(0, second)).in(999 * ms), take(tenPerSecond, 10, no(0, 999*ms, 999*ms)).in(ms)},
	},
	{
		name: "debt", why: "a large cost passes as long as the bucket is not empty, and later callers wait",
		steps: []step{
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(2), rule.AllowDebt(3)), 5, yes(0, 5*second)),
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(2), rule.AllowDebt(3)), 6, no(0, never, 5*second)),
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(2), rule.AllowDebt(3)), 1, no(0, 3*second+time.Microsecond, 5*second)),
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(2), rule.AllowDebt(3)), 1, no(0, time.Microsecond, 2*second)).in(3 * second),
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(2), rule.AllowDebt(3)), 1, want{reset: 2 * second, retry: time.Microsecond}).as(engine.OpAtMost),
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(2), rule.AllowDebt(3)), 1, yes(0, 3*second-time.Microsecond)).in(time.Microsecond),
		},
	},
	{
		name: "pacer", why: "known bug 39: parallel callers get different slots in time",
		steps: []step{
			take(pace, 1, yes(0, 500*ms)),
			take(pace, 1, want{allowed: true, reset: second, delay: 500 * ms}),
			take(pace, 1, want{allowed: true, reset: 1500 * ms, delay: second}),
			take(pace, 1, no(0, 500*ms, 1500*ms)),
			take(pace, 4, no(0, never, 1500*ms)),
		},
	},
	{
		name: "large numbers", why: "known bug 8: no request passes because a number overflows",
		steps: []step{
			take(rule.TokenBucket(rule.PerDay(1)), 200_000_000, no(1, never, 0)),
			take(rule.TokenBucket(rule.Per(4294967295, 36525*24*time.Hour)), 4294967295, yes(0, 36525*24*time.Hour)),
			take(rule.TokenBucket(rule.Per(4294967295, 36525*24*time.Hour)), 1, no(0, 734758*time.Microsecond, 36525*24*time.Hour)),
		},
	},
})

var pace = rule.Pacer(rule.PerSecond(2), rule.MaxWait(second))

var _ = register([]scenario{
	{
		name: "a denial changes nothing", why: "known bug 22: a denied request must not be charged",
		steps: []step{take(tenPerSecond, 8, yes(2, 800*ms)), take(tenPerSecond, 5, no(2, 300*ms, 800*ms)), take(tenPerSecond, 1, yes(1, 900*ms))},
	},
	{
		name: "allow 0", why: "a request of 0 units passes and writes nothing",
		steps: []step{take(tenPerSecond, 0, yes(10, 0)), take(tenPerSecond, 10, yes(0, second)), take(tenPerSecond, 0, yes(0, second))},
	},
	{
		name: "peek", why: "known bug 27: a peek answers as the next allow would, and writes nothing",
		steps: []step{
			take(tenPerSecond, 1, yes(10, 0)).as(engine.OpPeek), take(tenPerSecond, 10, yes(0, second)),
			take(tenPerSecond, 1, no(0, 100*ms, second)).as(engine.OpPeek), take(tenPerSecond, 1, no(0, 100*ms, second)),
		},
	},
	{
		name: "give", why: "a give returns at most the units that were spent",
		steps: []step{
			take(tenPerSecond, 5, yes(10, 0)).as(engine.OpGive), take(tenPerSecond, 4, yes(6, 400*ms)),
			take(tenPerSecond, 3, yes(9, 100*ms)).as(engine.OpGive), take(tenPerSecond, 3, yes(10, 0)).as(engine.OpGive),
		},
	},
	{
		name: "at most", why: "the units that pass now are charged in one step",
		steps: []step{
			take(tenPerSecond, 7, want{allowed: true, remaining: 3, reset: 700 * ms, granted: 7}).as(engine.OpAtMost),
			take(tenPerSecond, 7, want{allowed: true, reset: second, granted: 3}).as(engine.OpAtMost),
			take(tenPerSecond, 7, no(0, 100*ms, second)).as(engine.OpAtMost),
		},
	},
	{
		name: "constants", why: "deny all and no limit keep no state",
		steps: []step{take(engine.DenyAll(), 1, no(0, never, 0)), take(engine.DenyAll(), 0, yes(0, 0)), take(engine.NoLimit(), 1<<40, yes(0, 0))},
	},
})
