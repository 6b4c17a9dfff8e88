package storetest

import (
	"time"

	"github.com/headgate/headgate"
)

var (
	perMinute = slog(headgate.PerMinute(3))
	counting  = slog(headgate.PerMinute(3), headgate.CountDenied())
)

var windows = []scenario{
	{
		name: "fixed window", why: "a window begins with the first request and ends a period later",
		steps: []step{
			take(fixed(headgate.PerMinute(5)), 5, yes(0, time.Minute)),
			take(fixed(headgate.PerMinute(5)), 1, no(0, time.Microsecond, time.Microsecond)).in(time.Minute - time.Microsecond),
			take(fixed(headgate.PerMinute(5)), 1, yes(4, time.Minute)).in(time.Microsecond),
		},
	},
	{
		name: "one instant", why: "known bug 23: requests of one µs are entries of their own, and a refused one adds none",
		steps: []step{
			take(slog(headgate.PerMinute(3)), 1, yes(2, time.Minute)),
			take(slog(headgate.PerMinute(3)), 1, yes(1, time.Minute)),
			take(slog(headgate.PerMinute(3)), 1, yes(0, time.Minute)),
			take(slog(headgate.PerMinute(3)), 1, no(0, time.Minute, time.Minute)),
			take(slog(headgate.PerMinute(3)), 3, yes(0, time.Minute)).in(time.Minute),
		},
	},
	{
		name: "a window's last µs", why: "known bug 17: a window that is about to end is not opened again",
		steps: []step{
			take(fixed(headgate.PerSecond(2)), 2, yes(0, second)),
			take(fixed(headgate.PerSecond(2)), 1, no(0, 500*time.Microsecond, 500*time.Microsecond)).in(second - 500*time.Microsecond),
			take(fixed(headgate.PerSecond(2)), 1, no(0, time.Microsecond, time.Microsecond)).in(499 * time.Microsecond),
			take(fixed(headgate.PerSecond(2)), 2, yes(0, second)).in(time.Microsecond),
		},
	},
	{
		name: "clock window", why: "a window by the clock ends where the next begins",
		steps: []step{
			take(fixed(headgate.PerMinute(5), headgate.ClockAligned()), 2, yes(3, 20*second)).in(40 * second),
			take(fixed(headgate.PerMinute(5), headgate.ClockAligned()), 1, yes(4, time.Minute)).in(20 * second),
		},
	},
	{
		name: "fixed window counts refusals", why: "whoever keeps calling stays out, and no count goes beyond the limit",
		steps: []step{
			take(fixed(headgate.PerMinute(5), headgate.CountDenied()), 3, yes(2, time.Minute)),
			take(fixed(headgate.PerMinute(5), headgate.CountDenied()), 9, no(2, never, time.Minute)),
			take(fixed(headgate.PerMinute(5), headgate.CountDenied()), 4, no(0, time.Minute, time.Minute)),
			take(fixed(headgate.PerMinute(5), headgate.CountDenied()), 2, yes(2, time.Minute)).as(headgate.OpGive),
		},
	},
	{
		name: "two buckets", why: "known bug 7: products of large numbers do not overflow into letting everything pass",
		steps: []step{
			take(sliding(headgate.PerDay(150_000)), 150_000, yes(0, 48*time.Hour)),
			take(sliding(headgate.PerDay(150_000)), 1, yes(0, 48*time.Hour-second)).in(24*time.Hour + second),
			take(sliding(headgate.PerDay(150_000)), 1, no(0, 152*ms, 48*time.Hour-second)),
		},
	},
	{
		name: "strict", why: "never more than the limit in any period: the oldest segment counts whole",
		steps: []step{
			take(sliding(headgate.PerMinute(6), headgate.Segments(6), headgate.Strict()), 6, yes(0, 61*second)).in(9 * second),
			take(sliding(headgate.PerMinute(6), headgate.Segments(6), headgate.Strict()), 1, no(0, second, second)).in(60 * second),
			take(sliding(headgate.PerMinute(6), headgate.Segments(6), headgate.Strict()), 1, yes(5, 70*second)).in(second),
		},
	},
	{
		name: "lenient", why: "the well-known scripts forget the oldest segment at once",
		steps: []step{
			take(sliding(headgate.PerMinute(6), headgate.Segments(6), headgate.Lenient()), 6, yes(0, 51*second)).in(9 * second),
			take(sliding(headgate.PerMinute(6), headgate.Segments(6), headgate.Lenient()), 1, yes(5, 60*second)).in(51 * second),
		},
	},
	{
		name: "log", why: "exactly the limit in every span of the period",
		steps: []step{
			take(perMinute, 1, yes(2, time.Minute)),
			take(perMinute, 2, yes(0, time.Minute)).in(10 * second),
			take(perMinute, 2, no(0, time.Minute, time.Minute)),
			take(perMinute, 1, no(0, time.Microsecond, 10*second+time.Microsecond)).in(50*second - time.Microsecond),
			take(perMinute, 1, yes(0, time.Minute)).in(time.Microsecond),
		},
	},
	{
		name: "log counts refusals", why: "the log keeps its newest units",
		steps: []step{
			take(counting, 3, yes(0, time.Minute)),
			take(counting, 1, no(0, time.Minute, time.Minute)).in(30 * second).as(headgate.OpPeek).resetting(30 * second).retrying(30 * second),
			take(counting, 2, no(0, time.Minute, time.Minute)),
			take(counting, 1, yes(0, time.Minute)).in(30 * second),
		},
	},
	{
		name: "several windows", why: "one record, all or nothing, and the violated window is told",
		steps: []step{
			take(slog(headgate.PerSecond(2), headgate.And(headgate.PerMinute(3))), 2, yes(0, time.Minute)),
			take(slog(headgate.PerSecond(2), headgate.And(headgate.PerMinute(3))), 1, no(0, second, time.Minute)),
			take(slog(headgate.PerSecond(2), headgate.And(headgate.PerMinute(3))), 1, yes(0, time.Minute)).in(second),
			take(slog(headgate.PerSecond(2), headgate.And(headgate.PerMinute(3))), 1, no(0, 58*second, 59*second)).in(second),
		},
	},
}

func (s step) resetting(d time.Duration) step {
	s.want.reset = d
	return s
}

func (s step) retrying(d time.Duration) step {
	s.want.retry = d
	return s
}

var clocks = []scenario{
	{
		name: "set back a little", why: "known bugs 18 and 19: a clock that flaps mints nothing",
		steps: []step{
			take(tenPerSecond, 10, yes(0, second)),
			take(tenPerSecond, 1, no(0, 200*ms, 1100*ms)).in(-100 * ms),
			take(tenPerSecond, 10, no(0, second, second)).in(100 * ms),
		},
	},
	{
		name: "set back by an hour", why: "nobody waits for the old time to come round",
		steps: []step{take(tenPerSecond, 10, yes(0, second)), take(tenPerSecond, 1, no(0, 100*ms, second)).in(-time.Hour)},
	},
	{
		name: "set back under a window", why: "the count stays, to the end of a window that starts now",
		steps: []step{
			take(fixed(headgate.PerMinute(5)), 5, yes(0, time.Minute)),
			take(fixed(headgate.PerMinute(5)), 1, no(0, time.Minute, time.Minute)).in(-10 * second),
		},
	},
	{
		name: "set back under a log", why: "what lies in the future counts as now",
		steps: []step{take(perMinute, 3, yes(0, time.Minute)), take(perMinute, 1, no(0, time.Minute, time.Minute)).in(-time.Hour)},
	},
	{
		name: "set back under segments", why: "later segments join the current one",
		steps: []step{
			take(sliding(headgate.PerMinute(6), headgate.Segments(6), headgate.Strict()), 6, yes(0, 70*second)),
			take(sliding(headgate.PerMinute(6), headgate.Segments(6), headgate.Strict()), 1, no(0, 70*second, 70*second)).in(-time.Hour),
		},
	},
}

var changes = []scenario{
	{
		name: "lowered, raised, reloaded", why: "known bug 30: spent stays spent",
		steps: []step{
			take(bucket(headgate.PerSecond(10)), 8, yes(2, 800*ms)),
			take(bucket(headgate.PerSecond(20)), 1, yes(11, 450*ms)),
			take(bucket(headgate.PerSecond(5)), 1, no(0, 1000*ms, 1000*ms)).capped(),
		},
	},
	{
		name: "shorter window", why: "end := min(end, now + P′)",
		steps: []step{
			take(fixed(headgate.PerMinute(5)), 5, yes(0, time.Minute)),
			take(fixed(headgate.PerSecond(5)), 1, no(0, second, second)),
			take(fixed(headgate.PerSecond(5)), 1, yes(4, second)).in(second),
		},
	},
	{
		name: "other segments", why: "all that still counts goes to the current segment",
		steps: []step{
			take(sliding(headgate.PerMinute(6), headgate.Segments(6), headgate.Strict()), 4, yes(2, 70*second)),
			take(sliding(headgate.PerMinute(6), headgate.Segments(3), headgate.Strict()), 2, yes(0, 75*second)).in(5 * second),
		},
	},
}

// capped expects what a smaller burst leaves.
func (s step) capped() step {
	s.want = no(0, 200*ms, second)
	s.limits = []headgate.Limit{bucket(headgate.PerSecond(5))}
	return s
}
