package scenarios

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

var (
	tenths = rule.SlidingLog(rule.PerSecond(10))
	single = rule.SlidingLog(rule.PerSecond(2))
	halves = rule.SlidingWindow(rule.PerSecond(10), rule.Segments(2), rule.Strict())
)

// Cases with many operations on one key at one instant. A store may read and write the state only
// once for all of them.
var _ = register([]scenario{
	{
		name: "a give before a charge", why: "a charge deletes the units that no longer count, and no others",
		steps: []step{
			take(tenths, 3, yes(7, second)),
			take(tenths, 2, yes(5, second)).in(400 * ms),
			take(tenths, 2, yes(3, second)).in(400 * ms),
			take(tenths, 1, yes(7, 800*ms)).in(200 * ms).as(engine.OpGive),
			take(tenths, 1, yes(6, second)),
			take(tenths, 2, yes(6, second)).as(engine.OpPeek),
			take(tenths, 1, yes(7, 600*ms)).in(400 * ms).as(engine.OpPeek),
			take(tenths, 1, yes(9, 200*ms)).in(400 * ms).as(engine.OpPeek),
		},
	},
	{
		name: "a give by handle between peeks", why: "entries before it count at their own instants",
		steps: []step{
			take(tenths, 3, yes(7, second)),
			take(tenths, 2, yes(5, second)).in(100 * ms),
			take(tenths, 4, yes(1, second)).in(100 * ms),
			take(tenths, 1, yes(4, 200*ms)).in(800 * ms).as(engine.OpPeek),
			take(tenths, 1, yes(4, 200*ms)).as(engine.OpPeek),
			take(tenths, 4, yes(8, 100*ms)).of(3),
			take(tenths, 1, yes(8, 100*ms)).as(engine.OpPeek),
		},
	},
	{
		name: "a denial after a peek, after the clock went back", why: "entries in the future move to the instant of the first charging request",
		steps: []step{
			take(single, 2, yes(0, second)).in(time.Minute),
			take(single, 1, no(0, second, second)).in(-10 * second).as(engine.OpPeek),
			take(single, 1, no(0, second, second)),
			take(single, 1, no(0, 500*ms, 500*ms)).in(500 * ms),
		},
	},
	{
		name: "a give of units just charged", why: "the charge is in the state",
		steps: []step{
			take(tenths, 4, yes(6, second)),
			take(tenths, 3, yes(9, second)).as(engine.OpGive),
			take(tenths, 1, yes(9, second)).as(engine.OpPeek),
			take(halves, 4, yes(6, 1500*ms)),
			take(halves, 3, yes(9, 1500*ms)).as(engine.OpGive),
			take(halves, 1, yes(9, 1500*ms)).as(engine.OpPeek),
		},
	},
	{
		name: "two gives", why: "the second works on what the first left",
		steps: []step{
			take(tenths, 3, yes(7, second)),
			take(tenths, 2, yes(5, second)).in(400 * ms),
			take(tenths, 2, yes(3, second)).in(400 * ms),
			take(tenths, 1, yes(7, 800*ms)).in(200 * ms).of(3),
			take(tenths, 1, yes(8, 800*ms)).as(engine.OpGive),
			take(tenths, 1, yes(9, 400*ms)).in(400 * ms).as(engine.OpPeek),
			take(tenths, 1, yes(10, 0)).in(400 * ms).as(engine.OpPeek),
		},
	},
	{
		name: "other numbers in between", why: "operations of a key keep their order",
		steps: []step{
			take(rule.TokenBucket(rule.PerSecond(10)), 3, yes(7, 300*ms)),
			take(rule.TokenBucket(rule.PerSecond(5)), 1, yes(1, 800*ms)),
			take(rule.TokenBucket(rule.PerSecond(10)), 1, yes(5, 500*ms)),
			take(rule.TokenBucket(rule.PerSecond(5)), 1, no(0, 100*ms, 500*ms)),
		},
	},
	{
		name: "the same again and again", why: "each works on what the one before left",
		steps: []step{
			take(tenths, 4, yes(6, second)),
			take(tenths, 4, yes(2, second)),
			take(tenths, 4, no(2, second, second)),
			take(tenths, 4, no(2, second, second)),
			take(tenths, 3, want{allowed: true, reset: second, granted: 2}).as(engine.OpAtMost),
			take(tenths, 3, no(0, second, second)).as(engine.OpAtMost),
			take(tenths, 3, no(0, second, second)).as(engine.OpAtMost),
		},
	},
})
