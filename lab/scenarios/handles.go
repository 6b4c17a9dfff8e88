package scenarios

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// of turns a step into a give by handle, which returns the units charged by step n (counted from 1).
func (s step) of(n int) step {
	s.kind, s.handle = engine.OpGive, n
	return s
}

// Cases for gives by handle, which return the units of exactly one charge. Such gives undo
// reservations, and charges on several nodes of a store.
var _ = register([]scenario{
	{
		name: "give back in a fixed window", why: "units charged in a window leave with it: given back to the next one, they would let more through",
		steps: []step{
			take(rule.FixedWindow(rule.Per(5, 10*second)), 3, yes(2, 10*second)),
			take(rule.FixedWindow(rule.Per(5, 10*second)), 1, yes(3, 6*second)).of(1).in(4 * second),
			take(rule.FixedWindow(rule.Per(5, 10*second)), 2, yes(3, 10*second)).in(6 * second),
			take(rule.FixedWindow(rule.Per(5, 10*second)), 3, yes(3, 10*second)).of(1),
			take(rule.FixedWindow(rule.Per(5, 10*second)), 1, yes(4, 10*second)).of(3),
		},
	},
	{
		name: "give back behind the clock in a fixed window", why: "a handle names the window in which the units count",
		steps: []step{
			take(rule.FixedWindow(rule.PerMinute(10)), 1, yes(9, time.Minute)),
			take(rule.FixedWindow(rule.PerMinute(10)), 5, yes(4, 61*second)).in(-second),
			take(rule.FixedWindow(rule.PerMinute(10)), 5, yes(9, 60500*ms)).of(2).in(500 * ms),
		},
	},
	{
		name: "give back behind the clock in a calendar window", why: "the same for the window after the one of now",
		steps: []step{
			take(calendar(rule.PerMinute(10), "UTC"), 1, yes(9, time.Minute)).in(time.Minute),
			take(calendar(rule.PerMinute(10), "UTC"), 5, yes(4, 61*second)).in(-second),
			take(calendar(rule.PerMinute(10), "UTC"), 5, yes(9, 60500*ms)).of(2).in(500 * ms),
		},
	},
	{
		name: "give back behind the clock in segments", why: "the same for the newest segment",
		steps: []step{
			take(rule.SlidingWindow(rule.PerMinute(10), rule.Segments(6), rule.Strict()), 2, yes(8, 61*second)).in(9 * second),
			take(rule.SlidingWindow(rule.PerMinute(10), rule.Segments(6), rule.Strict()), 1, yes(7, 70*second)).in(second),
			take(rule.SlidingWindow(rule.PerMinute(10), rule.Segments(6), rule.Strict()), 5, yes(2, 71*second)).in(-second),
			take(rule.SlidingWindow(rule.PerMinute(10), rule.Segments(6), rule.Strict()), 5, yes(7, 70500*ms)).of(3).in(500 * ms),
			take(rule.SlidingWindow(rule.PerMinute(10), rule.Segments(6), rule.Strict()), 1, yes(8, 70*second)).in(60500 * ms),
		},
	},
	{
		name: "give back behind the clock in a log", why: "the same for the newest entry",
		steps: []step{
			take(rule.SlidingLog(rule.PerMinute(10)), 1, yes(9, time.Minute)),
			take(rule.SlidingLog(rule.PerMinute(10)), 5, yes(4, 61*second)).in(-second),
			take(rule.SlidingLog(rule.PerMinute(10)), 5, yes(9, 60500*ms)).of(2).in(500 * ms),
		},
	},
	{
		name: "give back beside units taken ahead", why: "units charged while the newest entry lies ahead are entered there",
		steps: []step{
			take(rule.SlidingLog(rule.PerMinute(10)), 2, yes(8, 61*second)).until(second),
			take(rule.SlidingLog(rule.PerMinute(10)), 5, yes(3, 60900*ms)).in(100 * ms),
			take(rule.SlidingLog(rule.PerMinute(10)), 5, yes(8, 60800*ms)).of(2).in(100 * ms),
		},
	},
	{
		name: "given back and taken again at the newest entry", why: "an entry that a give has moved can change again, and is not lost",
		steps: []step{
			take(rule.SlidingLog(rule.PerMinute(10)), 1, yes(9, 61*second)).until(second),
			take(rule.SlidingLog(rule.PerMinute(10)), 1, yes(8, 61*second)).in(100 * ms).until(second),
			take(rule.SlidingLog(rule.PerMinute(10)), 1, yes(9, 60800*ms)).of(2).in(100 * ms),
			take(rule.SlidingLog(rule.PerMinute(10)), 8, yes(1, 60800*ms)).until(800 * ms),
			take(rule.SlidingLog(rule.PerMinute(10)), 2, no(1, 60800*ms, 60800*ms)),
			take(rule.SlidingLog(rule.PerMinute(10)), 2, no(1, 60700*ms, 60700*ms)).in(100 * ms),
		},
	},
	{
		name: "given back in full behind the clock", why: "a full bucket keeps no instant: the next charge is made now",
		steps: []step{
			take(rule.TokenBucket(rule.PerMinute(10)), 5, yes(5, 30*second)),
			take(rule.TokenBucket(rule.PerMinute(10)), 5, yes(10, 0)).as(engine.OpGive).in(-20 * second),
			take(rule.TokenBucket(rule.PerMinute(10)), 10, yes(0, time.Minute)),
			take(rule.TokenBucket(rule.PerMinute(10)), 1, no(0, 6*second, time.Minute)),
			take(rule.TokenBucket(rule.PerMinute(10)), 1, yes(0, time.Minute)).in(6 * second),
		},
	},
	{
		name: "give back in a clock window", why: "the same for windows that begin without a request",
		steps: []step{
			take(rule.FixedWindow(rule.Per(5, 10*second), rule.Align("clock")), 3, yes(2, second)).in(9 * second),
			take(rule.FixedWindow(rule.Per(5, 10*second), rule.Align("clock")), 2, yes(3, 9*second)).in(2 * second),
			take(rule.FixedWindow(rule.Per(5, 10*second), rule.Align("clock")), 3, yes(3, 9*second)).of(1),
			take(rule.FixedWindow(rule.Per(5, 10*second), rule.Align("clock")), 2, yes(5, 0)).of(2),
		},
	},
	{
		name: "give back in a calendar window", why: "the same for windows that the calendar begins",
		steps: []step{
			take(calendar(rule.PerMinute(5), "UTC"), 3, yes(2, second)).in(59 * second),
			take(calendar(rule.PerMinute(5), "UTC"), 2, yes(3, 59*second)).in(2 * second),
			take(calendar(rule.PerMinute(5), "UTC"), 3, yes(3, 59*second)).of(1),
			take(calendar(rule.PerMinute(5), "UTC"), 1, yes(4, 59*second)).of(2),
		},
	},
	{
		name: "give back in a log", why: "exactly that entry is given back, and no more units than it had",
		steps: []step{
			take(rule.SlidingLog(rule.Per(5, 10*second)), 2, yes(3, 10*second)),
			take(rule.SlidingLog(rule.Per(5, 10*second)), 2, yes(1, 10*second)).in(second),
			take(rule.SlidingLog(rule.Per(5, 10*second)), 3, yes(3, 10*second)).of(1),
			take(rule.SlidingLog(rule.Per(5, 10*second)), 1, yes(4, 10*second)).of(2),
			take(rule.SlidingLog(rule.Per(5, 10*second)), 2, yes(2, 10*second)).in(second),
			take(rule.SlidingLog(rule.Per(5, 10*second)), 5, yes(4, 9*second)).of(5),
			take(rule.SlidingLog(rule.Per(5, 10*second)), 5, yes(4, 9*second)).of(5),
		},
	},
	{
		name: "entries that have left a log", why: "units that no longer count are not given back, and count again if the clock is set back",
		steps: []step{
			take(rule.SlidingLog(rule.Per(5, 10*second)), 2, yes(3, 10*second)),
			take(rule.SlidingLog(rule.Per(5, 10*second)), 1, yes(2, 10*second)).in(5 * second),
			take(rule.SlidingLog(rule.Per(5, 10*second)), 2, yes(4, 4*second)).of(1).in(6 * second),
			take(rule.SlidingLog(rule.Per(5, 10*second)), 0, yes(2, 6*second)).in(-2 * second),
		},
	},
	{
		name: "give back in a sliding window", why: "the segment's units are given back; older ones stay",
		steps: []step{
			take(rule.SlidingWindow(rule.Per(10, 10*second), rule.Segments(10), rule.Strict()), 3, yes(7, 11*second)),
			take(rule.SlidingWindow(rule.Per(10, 10*second), rule.Segments(10), rule.Strict()), 2, yes(5, 11*second)).in(second),
			take(rule.SlidingWindow(rule.Per(10, 10*second), rule.Segments(10), rule.Strict()), 9, yes(7, 10*second)).of(2),
			take(rule.SlidingWindow(rule.Per(10, 10*second), rule.Segments(10), rule.Strict()), 3, yes(10, 0)).of(1).in(10 * second),
		},
	},
	{
		name: "give back in the calendar window after the one of now", why: "the clock was set back a little, and the window is the same",
		steps: []step{
			take(calendar(rule.PerMinute(5), "UTC"), 3, yes(2, time.Minute)).in(time.Minute),
			take(calendar(rule.PerMinute(5), "UTC"), 1, yes(3, 62*second)).of(1).in(-2 * second),
		},
	},
	{
		name: "give back units that another version counts", why: "a give by handle returns all units that still count, even if only for another version than the one that charged them",
		steps: []step{
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Segments(6), rule.Strict()), 1, yes(5, 70*second)),
			take(rule.SlidingWindow(rule.Per(6, 30*second), rule.Segments(3), rule.Strict()), 2, yes(3, 40*second)),
			take(rule.SlidingLog(rule.PerMinute(6)), 1, yes(5, time.Minute)),
			take(rule.SlidingLog(rule.PerSecond(6)), 2, yes(3, second)),
			take(rule.SlidingWindow(rule.Per(6, 30*second), rule.Segments(3), rule.Strict()), 2, yes(6, 0)).of(2).in(45 * second),
			take(rule.SlidingLog(rule.PerSecond(6)), 2, yes(6, 0)).of(4),
			take(rule.SlidingWindow(rule.PerMinute(6), rule.Segments(6), rule.Strict()), 0, yes(5, 25*second)),
			take(rule.SlidingLog(rule.PerMinute(6)), 0, yes(5, 15*second)),
		},
	},
	{
		name: "give back to a bucket", why: "a bucket's units are all alike, and it is never more than full",
		steps: []step{
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(5)), 3, yes(2, 3*second)),
			take(rule.TokenBucket(rule.PerSecond(1), rule.Burst(5)), 3, yes(5, 0)).of(1).in(second),
		},
	},
	{
		name: "a give under another window", why: "units that moved to now when the clock was set back are given back from there",
		steps: []step{
			take(rule.SlidingLog(rule.PerDay(3)), 1, yes(2, 24*time.Hour)),
			take(rule.SlidingLog(rule.PerDay(3)), 1, yes(1, 24*time.Hour)).in(100 * second),
			take(rule.SlidingLog(rule.PerMinute(4)), 2, yes(4, 0)).as(engine.OpGive).in(-second),
		},
	},
	{
		name: "counted denials push out the oldest", why: "units that a log has dropped do not come back when its limit is raised",
		steps: []step{
			take(counting, 1, yes(2, time.Minute)),
			take(counting, 1, yes(1, time.Minute)).in(second),
			take(counting, 1, yes(0, time.Minute)).in(second),
			take(counting, 2, no(0, 60*second, time.Minute)).in(second),
			take(rule.SlidingLog(rule.PerMinute(9), rule.CountDenied()), 0, yes(6, 3*second)).in(57 * second),
		},
	},
})
