package scenarios

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

var (
	perMinute = rule.SlidingLog(rule.PerMinute(3))
	counting  = rule.SlidingLog(rule.PerMinute(3), rule.CountDenied())
)

var _ = register([]scenario{
	{
		name: "fixed window", why: "a window begins with the first request and ends a period later",
		steps: []step{
			take(rule.FixedWindow(rule.PerMinute(5)), 5, yes(0, time.Minute)),
			take(rule.FixedWindow(rule.PerMinute(5)), 1, no(0, time.Microsecond, time.Microsecond)).in(time.Minute - time.Microsecond),
			take(rule.FixedWindow(rule.PerMinute(5)), 1, yes(4, time.Minute)).in(time.Microsecond),
		},
	},
	{
		name: "one instant", why: "known bug 23: requests of one µs are separate entries, and a denied one adds none",
		steps: []step{
			take(rule.SlidingLog(rule.PerMinute(3)), 1, yes(2, time.Minute)),
			take(rule.SlidingLog(rule.PerMinute(3)), 1, yes(1, time.Minute)),
			take(rule.SlidingLog(rule.PerMinute(3)), 1, yes(0, time.Minute)),
			take(rule.SlidingLog(rule.PerMinute(3)), 1, no(0, time.Minute, time.Minute)),
			take(rule.SlidingLog(rule.PerMinute(3)), 3, yes(0, time.Minute)).in(time.Minute),
		},
	},
	{
		name: "log of a longer window", why: "a longer window counts nothing that had left the windows before, whether or not it is dropped yet",
		steps: []step{
			take(rule.SlidingLog(rule.PerSecond(5)), 1, yes(4, second)),
			take(rule.SlidingLog(rule.PerSecond(5)), 1, yes(3, second)).in(900 * time.Millisecond),
			take(rule.SlidingLog(rule.Per(5, 3*second)), 1, yes(4, 400*time.Millisecond)).as(engine.OpPeek).in(600 * time.Millisecond),
			take(rule.SlidingLog(rule.Per(5, 3*second)), 5, no(4, 400*time.Millisecond, 400*time.Millisecond)),
		},
	},
	{
		name: "peek after the clock was set back far", why: "a peek moves nothing, also where it answers what a denial would count",
		steps: []step{
			take(counting, 3, yes(0, time.Minute)),
			take(counting, 1, no(0, time.Minute, time.Minute)).as(engine.OpPeek).in(-time.Hour),
			take(counting, 1, no(0, second, second)).as(engine.OpPeek).in(time.Hour + 59*second),
		},
	},
	{
		name: "a window's last µs", why: "known bug 17: a window that is about to end is not started again",
		steps: []step{
			take(rule.FixedWindow(rule.PerSecond(2)), 2, yes(0, second)),
			take(rule.FixedWindow(rule.PerSecond(2)), 1, no(0, 500*time.Microsecond, 500*time.Microsecond)).in(second - 500*time.Microsecond),
			take(rule.FixedWindow(rule.PerSecond(2)), 1, no(0, time.Microsecond, time.Microsecond)).in(499 * time.Microsecond),
			take(rule.FixedWindow(rule.PerSecond(2)), 2, yes(0, second)).in(time.Microsecond),
		},
	},
	{
		name: "clock window", why: "a window aligned to the clock ends where the next one begins",
		steps: []step{
			take(rule.FixedWindow(rule.PerMinute(5), rule.Align("clock")), 2, yes(3, 20*second)).in(40 * second),
			take(rule.FixedWindow(rule.PerMinute(5), rule.Align("clock")), 1, yes(4, time.Minute)).in(20 * second),
		},
	},
	{
		name: "fixed window counts denials", why: "a caller that keeps calling stays denied, and no count exceeds the limit",
		steps: []step{
			take(rule.FixedWindow(rule.PerMinute(5), rule.CountDenied()), 3, yes(2, time.Minute)),
			take(rule.FixedWindow(rule.PerMinute(5), rule.CountDenied()), 9, no(2, never, time.Minute)),
			take(rule.FixedWindow(rule.PerMinute(5), rule.CountDenied()), 4, no(0, time.Minute, time.Minute)),
			take(rule.FixedWindow(rule.PerMinute(5), rule.CountDenied()), 2, yes(2, time.Minute)).as(engine.OpGive),
		},
	},
	{
		name: "two buckets", why: "known bugs 7 and 11: a product of large numbers does not overflow and let every request pass",
		steps: []step{
			take(rule.SlidingWindow(rule.PerDay(150_000), rule.Weighted()), 150_000, yes(0, 48*time.Hour)),
			take(rule.SlidingWindow(rule.PerDay(150_000), rule.Weighted()), 1, yes(0, 48*time.Hour-second)).in(24*time.Hour + second),
			take(rule.SlidingWindow(rule.PerDay(150_000), rule.Weighted()), 1, no(0, 152*ms, 48*time.Hour-second)),
		},
	},
	{
		name: "strict", why: "no period admits more than the limit: the oldest segment counts in full",
		steps: []step{
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Segments(6), rule.Strict()), 6, yes(0, 61*second)).in(9 * second),
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Segments(6), rule.Strict()), 1, no(0, second, second)).in(60 * second),
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Segments(6), rule.Strict()), 1, yes(5, 70*second)).in(second),
		},
	},
	{
		name: "lenient", why: "the well-known scripts drop the oldest segment at once",
		steps: []step{
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Segments(6), rule.Lenient()), 6, yes(0, 51*second)).in(9 * second),
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Segments(6), rule.Lenient()), 1, yes(5, 60*second)).in(51 * second),
		},
	},
	{
		name: "log", why: "every span of the period admits exactly the limit",
		steps: []step{
			take(perMinute, 1, yes(2, time.Minute)),
			take(perMinute, 2, yes(0, time.Minute)).in(10 * second),
			take(perMinute, 2, no(0, time.Minute, time.Minute)),
			take(perMinute, 1, no(0, time.Microsecond, 10*second+time.Microsecond)).in(50*second - time.Microsecond),
			take(perMinute, 1, yes(0, time.Minute)).in(time.Microsecond),
		},
	},
	{
		name: "log counts denials", why: "the log keeps its newest units",
		steps: []step{
			take(counting, 3, yes(0, time.Minute)),
			take(counting, 1, no(0, time.Minute, time.Minute)).in(30 * second).as(engine.OpPeek).resetting(30 * second).retrying(30 * second),
			take(counting, 2, no(0, time.Minute, time.Minute)),
			take(counting, 1, yes(0, time.Minute)).in(30 * second),
		},
	},
	{
		name: "several windows", why: "one record, all or nothing, and the answer shows the window that denied",
		steps: []step{
			take(rule.SlidingLog(rule.PerSecond(2), rule.And(rule.PerMinute(3))), 2, yes(0, time.Minute)),
			take(rule.SlidingLog(rule.PerSecond(2), rule.And(rule.PerMinute(3))), 1, no(0, second, time.Minute)),
			take(rule.SlidingLog(rule.PerSecond(2), rule.And(rule.PerMinute(3))), 1, yes(0, time.Minute)).in(second),
			take(rule.SlidingLog(rule.PerSecond(2), rule.And(rule.PerMinute(3))), 1, no(0, 58*second, 59*second)).in(second),
		},
	},
})

func (s step) resetting(d time.Duration) step {
	s.want.reset = d
	return s
}

func (s step) retrying(d time.Duration) step {
	s.want.retry = d
	return s
}

var _ = register([]scenario{
	{
		name: "set back a little", why: "known bugs 18 and 19: a clock that goes back and forth creates no units",
		steps: []step{
			take(tenPerSecond, 10, yes(0, second)),
			take(tenPerSecond, 1, no(0, 200*ms, 1100*ms)).in(-100 * ms),
			take(tenPerSecond, 10, no(0, second, second)).in(100 * ms),
		},
	},
	{
		name: "set back by an hour", why: "no caller waits until the clock reaches the old instant again",
		steps: []step{take(tenPerSecond, 10, yes(0, second)), take(tenPerSecond, 1, no(0, 100*ms, second)).in(-time.Hour)},
	},
	{
		name: "set back under a window", why: "known bug 49: if the clock goes back by less than the window, callers wait for its end",
		steps: []step{
			take(rule.FixedWindow(rule.PerMinute(5)), 5, yes(0, time.Minute)),
			take(rule.FixedWindow(rule.PerMinute(5)), 1, no(0, 70*second, 70*second)).in(-10 * second),
			take(rule.FixedWindow(rule.PerMinute(5)), 1, no(0, second, second)).in(69 * second),
		},
	},
	{
		name: "back and forth across a window's edge", why: "known bug 49: with 100 a minute, 500 passed",
		steps: []step{
			take(rule.FixedWindow(rule.PerMinute(5), rule.Align("clock")), 5, yes(0, second)).in(59 * second),
			take(rule.FixedWindow(rule.PerMinute(5), rule.Align("clock")), 5, yes(0, time.Minute)).in(second),
			take(rule.FixedWindow(rule.PerMinute(5), rule.Align("clock")), 1, no(0, 61*second, 61*second)).in(-second),
			take(rule.FixedWindow(rule.PerMinute(5), rule.Align("clock")), 1, no(0, time.Minute, time.Minute)).in(second),
		},
	},
	{
		name: "set back by more than a window", why: "the count moves to the window of now, and a denied request writes that",
		steps: []step{
			take(rule.FixedWindow(rule.PerMinute(5)), 5, yes(0, time.Minute)),
			take(rule.FixedWindow(rule.PerMinute(5)), 6, no(0, never, time.Minute)).in(-time.Hour),
			take(rule.FixedWindow(rule.PerMinute(5)), 1, no(0, second, second)).in(59 * second),
			take(rule.FixedWindow(rule.PerMinute(5)), 1, yes(4, time.Minute)).in(second),
		},
	},
	{
		name: "back and forth across an edge of calendar months", why: "February is shorter than March, and callers still wait for its end",
		steps: []step{
			take(rule.FixedWindow(engine.Rate{Count: 5, Months: 1}, rule.Align("UTC")), 5, yes(0, 31*24*time.Hour)).in(59 * 24 * time.Hour),
			take(rule.FixedWindow(engine.Rate{Count: 5, Months: 1}, rule.Align("UTC")), 1, no(0, 31*24*time.Hour+second, 31*24*time.Hour+second)).in(-second),
			take(rule.FixedWindow(engine.Rate{Count: 5, Months: 1}, rule.Align("UTC")), 1, no(0, 31*24*time.Hour, 31*24*time.Hour)).in(second),
		},
	},
	{
		name: "back and forth across a segment's edge", why: "known bug 49: callers wait for the newest segment",
		steps: []step{
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Segments(6), rule.Lenient()), 6, yes(0, 60*second)).in(10 * second),
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Segments(6), rule.Lenient()), 1, no(0, 61*second, 61*second)).in(-second),
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Segments(6), rule.Lenient()), 1, no(0, 60*second, 60*second)).in(second),
		},
	},
	{
		name: "set back under a weighted window", why: "requests are decided at the start of the newest segment, where the oldest one still counts in full",
		steps: []step{
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Weighted()), 6, yes(0, 2*time.Minute)),
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Weighted()), 2, yes(1, 90*second)).in(90 * second),
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Weighted()), 1, no(0, 40*second, 130*second)).in(-40 * second),
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Weighted()), 1, yes(0, 90*second)).in(40 * second),
		},
	},
	{
		name: "set back under a log", why: "if the clock goes back by less than the window, callers wait for the last charge",
		steps: []step{take(perMinute, 3, yes(0, time.Minute)), take(perMinute, 1, no(0, 61*second, 61*second)).in(-second)},
	},
	{
		name: "set back far under a log", why: "entries in the future count as of now",
		steps: []step{take(perMinute, 3, yes(0, time.Minute)), take(perMinute, 1, no(0, time.Minute, time.Minute)).in(-time.Hour)},
	},
	{
		name: "set back by a refill", why: "callers wait for a bucket exactly that long, and no longer",
		steps: []step{
			take(tenPerSecond, 5, yes(5, 500*ms)),
			take(tenPerSecond, 6, no(5, 1100*ms, 1500*ms)).in(-second),
			take(tenPerSecond, 6, no(5, 100*ms, 500*ms)).in(-time.Microsecond),
		},
	},
	{
		name: "set back by a window", why: "callers wait for its end exactly that long, and no longer",
		steps: []step{
			take(rule.FixedWindow(rule.PerMinute(5)), 5, yes(0, time.Minute)),
			take(rule.FixedWindow(rule.PerMinute(5)), 1, no(0, 2*time.Minute, 2*time.Minute)).in(-time.Minute),
			take(rule.FixedWindow(rule.PerMinute(5)), 1, no(0, time.Minute, time.Minute)).in(-time.Microsecond),
		},
	},
	{
		name: "set back by a window's segments", why: "callers wait for the newest segment exactly that long, and no longer",
		steps: []step{
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Segments(6), rule.Strict()), 6, yes(0, 70*second)),
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Segments(6), rule.Strict()), 1, no(0, 130*second, 130*second)).in(-time.Minute),
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Segments(6), rule.Strict()), 1, no(0, 60*second+time.Microsecond, 60*second+time.Microsecond)).in(-time.Microsecond),
		},
	},
	{
		name: "set back by more than a calendar month", why: "no caller waits for the month after the next",
		steps: []step{
			take(rule.FixedWindow(engine.Rate{Count: 5, Months: 1}, rule.Align("UTC")), 5, yes(0, 31*24*time.Hour)).in(59 * 24 * time.Hour),
			take(rule.FixedWindow(engine.Rate{Count: 5, Months: 1}, rule.Align("UTC")), 1, no(0, 12*24*time.Hour, 12*24*time.Hour)).in(-40 * 24 * time.Hour),
			take(rule.FixedWindow(engine.Rate{Count: 5, Months: 1}, rule.Align("UTC")), 1, yes(4, 31*24*time.Hour)).in(40 * 24 * time.Hour),
		},
	},
	{
		name: "set back under a faster version", why: "the faster refill decides what is far, and a denial writes the stored rate",
		steps: []step{
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(10)), 10, yes(0, 10*second)),
			take(tenPerSecond, 1, no(0, 100*ms, second)).in(-5 * second),
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(10)), 1, no(0, second, 10*second)),
		},
	},
	{
		name: "set back under a longer version", why: "callers wait for the longest of all windows, although units count for less",
		steps: []step{
			take(rule.SlidingLog(rule.PerSecond(3)), 3, yes(0, second)),
			take(rule.SlidingLog(rule.PerSecond(3)), 1, no(0, second, second)).in(-10 * second).as(engine.OpPeek),
			take(perMinute, 1, no(0, 11*second, 11*second)),
		},
	},
	{
		name: "a peek after the clock was set back", why: "a peek writes nothing: the state moves to the instant of the next allow",
		steps: []step{
			take(tenPerSecond, 10, yes(0, second)),
			take(tenPerSecond, 1, no(0, 100*ms, second)).in(-time.Hour).as(engine.OpPeek),
			take(tenPerSecond, 1, no(0, 100*ms, second)).in(500 * ms),
			take(tenPerSecond, 1, yes(4, 600*ms)).in(500 * ms),
		},
	},
	{
		name: "set back under segments", why: "later segments join the current one",
		steps: []step{
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Segments(6), rule.Strict()), 6, yes(0, 70*second)),
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Segments(6), rule.Strict()), 1, no(0, 70*second, 70*second)).in(-time.Hour),
		},
	},
})

var _ = register([]scenario{
	{
		name: "lowered, raised, reloaded", why: "known bug 30: units that were spent stay spent",
		steps: []step{
			take(rule.TokenBucket(rule.PerSecond(10)), 8, yes(2, 800*ms)),
			take(rule.TokenBucket(rule.PerSecond(20)), 1, yes(11, 450*ms)),
			take(rule.TokenBucket(rule.PerSecond(5)), 1, no(0, 250*ms, 450*ms)),
			take(rule.TokenBucket(rule.PerSecond(5)), 1, no(0, 50*ms, 250*ms)).in(200 * ms),
			take(rule.TokenBucket(rule.PerSecond(5)), 1, yes(0, second)).in(50 * ms),
		},
	},
	{
		name: "two versions of a burst", why: "known bug 40: a smaller burst drops no units, and a denial writes nothing (with a limit of 100, 800 passed)",
		steps: []step{
			take(rule.TokenBucket(rule.PerMinute(100)), 80, yes(20, 48*second)),
			take(rule.TokenBucket(rule.PerMinute(100), rule.Burst(1)), 1, no(0, 48*second, 48*second)),
			take(rule.TokenBucket(rule.PerMinute(100)), 0, yes(20, 48*second)),
			take(rule.TokenBucket(rule.PerMinute(100)), 80, no(20, 36*second, 48*second)),
		},
	},
	{
		name: "given back by another version", why: "the bucket keeps the rate under which its units were spent",
		steps: []step{
			take(rule.TokenBucket(rule.PerSecond(10)), 8, yes(2, 800*ms)),
			take(rule.TokenBucket(rule.PerSecond(1)), 3, yes(0, 500*ms)).as(engine.OpGive),
			take(rule.TokenBucket(rule.PerSecond(1)), 1, no(0, 500*ms, 500*ms)),
			take(rule.TokenBucket(rule.PerSecond(1)), 1, yes(0, second)).in(500 * ms),
			take(rule.TokenBucket(rule.PerSecond(10)), 10, no(9, 100*ms, 100*ms)),
		},
	},
	{
		name: "spent under a slower rate", why: "the bucket refills as slowly as the last version that spent from it",
		steps: []step{
			take(rule.TokenBucket(rule.PerSecond(10)), 4, yes(6, 400*ms)),
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(10)), 1, yes(6, 4*second)).in(100 * ms),
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(10)), 1, yes(5, 5*second)),
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(10)), 1, yes(4, 6*second)),
			take(rule.TokenBucket(rule.PerSecond(10)), 0, yes(4, 600*ms)),
		},
	},
	{
		name: "given back behind the clock", why: "the rest refills before the clock reaches the old instant again",
		steps: []step{
			take(tenPerSecond, 10, yes(0, second)),
			take(rule.TokenBucket(rule.PerSecond(10), rule.Burst(1)), 9, yes(0, 100*ms)).in(-900 * ms).as(engine.OpGive),
			take(tenPerSecond, 10, yes(0, second)).in(100 * ms),
		},
	},
	{
		name: "faster by a fraction", why: "three in two seconds are more than one in one",
		steps: []step{
			take(rule.TokenBucket(rule.Per(3, 2*second), rule.Burst(10)), 3, yes(7, 2*second)),
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(10)), 0, yes(7, 2*second)),
		},
	},
	{
		name: "faster in the same period", why: "the faster rate is in force since the last charge, and is then that of the state",
		steps: []step{
			take(rule.TokenBucket(rule.Per(3, 10*second), rule.Burst(10)), 10, yes(0, 33333334*time.Microsecond)),
			take(rule.TokenBucket(rule.Per(7, 10*second), rule.Burst(10)), 1, yes(6, 5714286*time.Microsecond)).in(10 * second),
			take(rule.TokenBucket(rule.Per(7, 10*second), rule.Burst(10)), 1, yes(5, 7142858*time.Microsecond)),
		},
	},
	{
		name: "debt under a slower rate", why: "the first request that passes is decided alone, and the fraction is rounded before the next",
		steps: []step{
			take(rule.TokenBucket(rule.Per(1500, ms), rule.Burst(10)), 10, yes(0, 7*time.Microsecond)),
			take(owing, 1, yes(3, 7*time.Microsecond)).in(3 * time.Microsecond),
			take(owing, 1, yes(2, 8*time.Microsecond)),
			take(owing, 1, yes(1, 9*time.Microsecond)),
			take(owing, 1, yes(0, 10*time.Microsecond)),
			take(owing, 1, no(0, time.Microsecond, 10*time.Microsecond)),
			take(owing, 0, yes(1, 9*time.Microsecond)).in(time.Microsecond),
		},
	},
	{
		name: "debt under another rate", why: "the first request that passes under another rate is decided alone",
		steps: []step{
			take(rule.TokenBucket(rule.Per(3, 7*second), rule.Burst(5)), 5, yes(0, 11666667*time.Microsecond)),
			take(indebted, 1, no(0, time.Microsecond, 2500*ms)),
			take(indebted, 1, yes(3, time.Second)).in(2 * second),
			take(indebted, 1, yes(2, 1500*ms)),
			take(indebted, 6, yes(0, 4500*ms)),
			take(indebted, 1, no(0, 2000001*time.Microsecond, 4500*ms)),
		},
	},
	{
		name: "another window", why: "a fixed window of another length is another counter, which starts empty",
		steps: []step{
			take(rule.FixedWindow(rule.PerMinute(5)), 5, yes(0, time.Minute)),
			take(rule.FixedWindow(rule.PerSecond(5)), 1, yes(4, second)),
			take(rule.FixedWindow(rule.Per(1, ms)), 2, no(1, never, 0)),
			take(rule.FixedWindow(rule.PerMinute(5)), 1, no(0, time.Minute, time.Minute)),
			take(rule.FixedWindow(rule.PerMinute(9)), 1, yes(3, time.Minute)),
		},
	},
	{
		name: "another grid", why: "a pacer's rate, a window's alignment and a calendar's zone each make another counter",
		steps: []step{
			take(pace, 1, yes(0, 500*ms)),
			take(rule.Pacer(rule.PerSecond(1), rule.MaxWait(second)), 1, yes(0, second)),
			take(rule.Pacer(rule.Per(3, 500*ms), rule.MaxWait(second)), 1, yes(0, 166667*time.Microsecond)),
			take(rule.FixedWindow(rule.PerMinute(5)), 5, yes(0, time.Minute)),
			take(rule.FixedWindow(rule.PerMinute(5), rule.Align("clock")), 1, yes(4, time.Minute)),
			take(calendar(rule.PerDay(5), "UTC"), 5, yes(0, 24*time.Hour)),
			take(calendar(rule.PerDay(5), "Asia/Shanghai"), 1, yes(4, 16*time.Hour)),
		},
	},
	{
		name: "another variant, more segments", why: "each version counts the units of all versions by its own windows",
		steps: []step{
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Segments(6), rule.Strict()), 4, yes(2, 70*second)),
			take(rule.SlidingWindow(rule.Per(6, 30*second), rule.Segments(3), rule.Lenient()), 2, yes(0, 25*second)).in(5 * second),
			take(rule.SlidingWindow(rule.Per(6, 30*second), rule.Segments(3), rule.Lenient()), 1, yes(5, 30*second)).in(25 * second),
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Segments(6), rule.Strict()), 1, no(0, 40*second, 70*second)),
		},
	},
	{
		name: "another log", why: "entries count as long as the longest window under which they were charged",
		steps: []step{
			take(rule.SlidingLog(rule.PerMinute(3)), 2, yes(1, time.Minute)),
			take(rule.SlidingLog(rule.PerSecond(3)), 2, yes(1, second)).in(10 * second),
			take(rule.SlidingLog(rule.PerMinute(3)), 1, no(0, 50*second, time.Minute)),
			take(rule.SlidingLog(rule.PerHour(3)), 1, no(0, 50*second, time.Minute)),
		},
	},
	{
		name: "a longer log", why: "units that no version counted any more do not come back",
		steps: []step{
			take(rule.SlidingLog(rule.PerSecond(3)), 2, yes(1, second)),
			take(rule.SlidingLog(rule.PerSecond(3)), 1, yes(0, second)).in(600 * ms),
			take(perMinute, 1, yes(1, time.Minute)).in(600 * ms),
		},
	},
	{
		name: "a full log under two versions", why: "no log keeps more than 100 000 units: the oldest are dropped first",
		steps: []step{
			take(rule.SlidingLog(rule.PerMinute(100_000)), 100_000, yes(0, time.Minute)),
			take(rule.SlidingLog(rule.PerSecond(100_000)), 100_000, yes(0, second)).in(2 * second),
			take(rule.SlidingLog(rule.PerMinute(100_000)), 60_000, yes(60_000, time.Minute)).as(engine.OpGive),
		},
	},
})

var (
	indebted = rule.TokenBucket(rule.PerSecond(2), rule.Burst(5), rule.AllowDebt(4))
	owing    = rule.TokenBucket(rule.Per(1000, ms), rule.Burst(10), rule.AllowDebt(4))
)
