package storetest

import (
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
)

// of makes a give one by handle: of what the scenario's step n (from 1) took.
func (s step) of(n int) step {
	s.kind, s.handle = engine.OpGive, n
	return s
}

// handles: what a give takes back of one charge, and of no other. Limits on
// several nodes of a store, and reservations, are undone by it.
var handles = []scenario{
	{
		name: "give back in a fixed window", why: "what was taken in a window has gone with it: given to the next, it would let more through",
		steps: []step{
			take(fixed(headgate.Per(5, 10*second)), 3, yes(2, 10*second)),
			take(fixed(headgate.Per(5, 10*second)), 1, yes(3, 6*second)).of(1).in(4 * second),
			take(fixed(headgate.Per(5, 10*second)), 2, yes(3, 10*second)).in(6 * second),
			take(fixed(headgate.Per(5, 10*second)), 3, yes(3, 10*second)).of(1),
			take(fixed(headgate.Per(5, 10*second)), 1, yes(4, 10*second)).of(3),
		},
	},
	{
		name: "give back behind the clock in a fixed window", why: "a handle names the window that the units count in",
		steps: []step{
			take(fixed(headgate.PerMinute(10)), 1, yes(9, time.Minute)),
			take(fixed(headgate.PerMinute(10)), 5, yes(4, 61*second)).in(-second),
			take(fixed(headgate.PerMinute(10)), 5, yes(9, 60500*ms)).of(2).in(500 * ms),
		},
	},
	{
		name: "give back behind the clock in a calendar window", why: "the same, of the window after now's own",
		steps: []step{
			take(calendar(headgate.PerMinute(10), "UTC"), 1, yes(9, time.Minute)).in(time.Minute),
			take(calendar(headgate.PerMinute(10), "UTC"), 5, yes(4, 61*second)).in(-second),
			take(calendar(headgate.PerMinute(10), "UTC"), 5, yes(9, 60500*ms)).of(2).in(500 * ms),
		},
	},
	{
		name: "give back behind the clock in segments", why: "the same, of the newest segment",
		steps: []step{
			take(sliding(headgate.PerMinute(10), headgate.Segments(6), headgate.Strict()), 2, yes(8, 61*second)).in(9 * second),
			take(sliding(headgate.PerMinute(10), headgate.Segments(6), headgate.Strict()), 1, yes(7, 70*second)).in(second),
			take(sliding(headgate.PerMinute(10), headgate.Segments(6), headgate.Strict()), 5, yes(2, 71*second)).in(-second),
			take(sliding(headgate.PerMinute(10), headgate.Segments(6), headgate.Strict()), 5, yes(7, 70500*ms)).of(3).in(500 * ms),
			take(sliding(headgate.PerMinute(10), headgate.Segments(6), headgate.Strict()), 1, yes(8, 70*second)).in(60500 * ms),
		},
	},
	{
		name: "give back behind the clock in a log", why: "the same, of the newest entry",
		steps: []step{
			take(slog(headgate.PerMinute(10)), 1, yes(9, time.Minute)),
			take(slog(headgate.PerMinute(10)), 5, yes(4, 61*second)).in(-second),
			take(slog(headgate.PerMinute(10)), 5, yes(9, 60500*ms)).of(2).in(500 * ms),
		},
	},
	{
		name: "give back beside what was taken in advance", why: "units behind a newest entry that lies ahead are entered there",
		steps: []step{
			take(slog(headgate.PerMinute(10)), 2, yes(8, 61*second)).until(second),
			take(slog(headgate.PerMinute(10)), 5, yes(3, 60900*ms)).in(100 * ms),
			take(slog(headgate.PerMinute(10)), 5, yes(8, 60800*ms)).of(2).in(100 * ms),
		},
	},
	{
		name: "given back and taken again where the newest lie", why: "what is moved by a give is changed once more, and not lost",
		steps: []step{
			take(slog(headgate.PerMinute(10)), 1, yes(9, 61*second)).until(second),
			take(slog(headgate.PerMinute(10)), 1, yes(8, 61*second)).in(100 * ms).until(second),
			take(slog(headgate.PerMinute(10)), 1, yes(9, 60800*ms)).of(2).in(100 * ms),
			take(slog(headgate.PerMinute(10)), 8, yes(1, 60800*ms)).until(800 * ms),
			take(slog(headgate.PerMinute(10)), 2, no(1, 60800*ms, 60800*ms)),
			take(slog(headgate.PerMinute(10)), 2, no(1, 60700*ms, 60700*ms)).in(100 * ms),
		},
	},
	{
		name: "given back in full behind the clock", why: "a full bucket has no time of its own: what is taken next is taken now",
		steps: []step{
			take(bucket(headgate.PerMinute(10)), 5, yes(5, 30*second)),
			take(bucket(headgate.PerMinute(10)), 5, yes(10, 0)).as(engine.OpGive).in(-20 * second),
			take(bucket(headgate.PerMinute(10)), 10, yes(0, time.Minute)),
			take(bucket(headgate.PerMinute(10)), 1, no(0, 6*second, time.Minute)),
			take(bucket(headgate.PerMinute(10)), 1, yes(0, time.Minute)).in(6 * second),
		},
	},
	{
		name: "give back in a clock window", why: "the same, where windows begin without a request",
		steps: []step{
			take(fixed(headgate.Per(5, 10*second), headgate.Align("clock")), 3, yes(2, second)).in(9 * second),
			take(fixed(headgate.Per(5, 10*second), headgate.Align("clock")), 2, yes(3, 9*second)).in(2 * second),
			take(fixed(headgate.Per(5, 10*second), headgate.Align("clock")), 3, yes(3, 9*second)).of(1),
			take(fixed(headgate.Per(5, 10*second), headgate.Align("clock")), 2, yes(5, 0)).of(2),
		},
	},
	{
		name: "give back in a calendar window", why: "the same, where the calendar begins them",
		steps: []step{
			take(calendar(headgate.PerMinute(5), "UTC"), 3, yes(2, second)).in(59 * second),
			take(calendar(headgate.PerMinute(5), "UTC"), 2, yes(3, 59*second)).in(2 * second),
			take(calendar(headgate.PerMinute(5), "UTC"), 3, yes(3, 59*second)).of(1),
			take(calendar(headgate.PerMinute(5), "UTC"), 1, yes(4, 59*second)).of(2),
		},
	},
	{
		name: "give back in a log", why: "the very entry leaves, and no more of it than it was",
		steps: []step{
			take(slog(headgate.Per(5, 10*second)), 2, yes(3, 10*second)),
			take(slog(headgate.Per(5, 10*second)), 2, yes(1, 10*second)).in(second),
			take(slog(headgate.Per(5, 10*second)), 3, yes(3, 10*second)).of(1),
			take(slog(headgate.Per(5, 10*second)), 1, yes(4, 10*second)).of(2),
			take(slog(headgate.Per(5, 10*second)), 2, yes(2, 10*second)).in(second),
			take(slog(headgate.Per(5, 10*second)), 5, yes(4, 9*second)).of(5),
			take(slog(headgate.Per(5, 10*second)), 5, yes(4, 9*second)).of(5),
		},
	},
	{
		name: "what has gone from a log", why: "what no longer counts is not given back, and counts again if the clock is set back",
		steps: []step{
			take(slog(headgate.Per(5, 10*second)), 2, yes(3, 10*second)),
			take(slog(headgate.Per(5, 10*second)), 1, yes(2, 10*second)).in(5 * second),
			take(slog(headgate.Per(5, 10*second)), 2, yes(4, 4*second)).of(1).in(6 * second),
			take(slog(headgate.Per(5, 10*second)), 0, yes(2, 6*second)).in(-2 * second),
		},
	},
	{
		name: "give back in a sliding window", why: "the segment's units leave; older ones stay",
		steps: []step{
			take(sliding(headgate.Per(10, 10*second), headgate.Segments(10), headgate.Strict()), 3, yes(7, 11*second)),
			take(sliding(headgate.Per(10, 10*second), headgate.Segments(10), headgate.Strict()), 2, yes(5, 11*second)).in(second),
			take(sliding(headgate.Per(10, 10*second), headgate.Segments(10), headgate.Strict()), 9, yes(7, 10*second)).of(2),
			take(sliding(headgate.Per(10, 10*second), headgate.Segments(10), headgate.Strict()), 3, yes(10, 0)).of(1).in(10 * second),
		},
	},
	{
		name: "give back in the calendar window after now's", why: "the clock was set back a little, and the window is the same",
		steps: []step{
			take(calendar(headgate.PerMinute(5), "UTC"), 3, yes(2, time.Minute)).in(time.Minute),
			take(calendar(headgate.PerMinute(5), "UTC"), 1, yes(3, 62*second)).of(1).in(-2 * second),
		},
	},
	{
		name: "give back what another version counts", why: "by handle all leaves that still counts, though no longer for whom it was taken",
		steps: []step{
			take(sliding(headgate.PerMinute(6), headgate.Segments(6), headgate.Strict()), 1, yes(5, 70*second)),
			take(sliding(headgate.Per(6, 30*second), headgate.Segments(3), headgate.Strict()), 2, yes(3, 40*second)),
			take(slog(headgate.PerMinute(6)), 1, yes(5, time.Minute)),
			take(slog(headgate.PerSecond(6)), 2, yes(3, second)),
			take(sliding(headgate.Per(6, 30*second), headgate.Segments(3), headgate.Strict()), 2, yes(6, 0)).of(2).in(45 * second),
			take(slog(headgate.PerSecond(6)), 2, yes(6, 0)).of(4),
			take(sliding(headgate.PerMinute(6), headgate.Segments(6), headgate.Strict()), 0, yes(5, 25*second)),
			take(slog(headgate.PerMinute(6)), 0, yes(5, 15*second)),
		},
	},
	{
		name: "give back to a bucket", why: "units are alike there; more than full it cannot be",
		steps: []step{
			take(bucket(headgate.PerSecond(1), headgate.Burst(5)), 3, yes(2, 3*second)),
			take(bucket(headgate.PerSecond(1), headgate.Burst(5)), 3, yes(5, 0)).of(1).in(second),
		},
	},
	{
		name: "a give under another window", why: "what was moved to now when the clock was set back is given back as what it is",
		steps: []step{
			take(slog(headgate.PerDay(3)), 1, yes(2, 24*time.Hour)),
			take(slog(headgate.PerDay(3)), 1, yes(1, 24*time.Hour)).in(100 * second),
			take(slog(headgate.PerMinute(4)), 2, yes(4, 0)).as(engine.OpGive).in(-second),
		},
	},
	{
		name: "counted refusals push out the oldest", why: "what a log has forgotten stays forgotten when its limit is raised",
		steps: []step{
			take(counting, 1, yes(2, time.Minute)),
			take(counting, 1, yes(1, time.Minute)).in(second),
			take(counting, 1, yes(0, time.Minute)).in(second),
			take(counting, 2, no(0, 60*second, time.Minute)).in(second),
			take(slog(headgate.PerMinute(9), headgate.CountDenied()), 0, yes(6, 3*second)).in(57 * second),
		},
	},
}
