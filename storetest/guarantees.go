package storetest

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// The three classes have bursts of their own of 2, 2 and 0 units, and share 6 units. The second class never gets more
// than 5 units a second.
var (
	firstClass  = guaranteed("6:2,2:2-5,0", 1)
	secondClass = guaranteed("6:2,2:2-5,0", 2)
	thirdClass  = guaranteed("6:2,2:2-5,0", 3)
	lendsDown   = []engine.Limit{guaranteed("6:2,2:2,0", 1, down), guaranteed("6:2,2:2,0", 2, down), guaranteed("6:2,2:2,0", 3, down)}
	lendsNone   = []engine.Limit{guaranteed("5:5-5,4:4-4", 1), guaranteed("5:5-5,4:4-4", 2)}
)

var down = engine.Setting{Field: "lend", Word: "down"}

func guaranteed(guarantees string, rank int64, settings ...engine.Setting) engine.Limit {
	all := append([]engine.Setting{rule.Burst(10), {Field: "rank", Units: rank}}, settings...)
	return rule.GuaranteedRate(rule.PerSecond(10), guarantees, all...)
}

var _ = register([]scenario{
	{
		name: "guaranteed rate", why: "a class has its own units and the shared ones; what it misses comes at its guarantee and at what the others overflow",
		steps: []step{
			take(firstClass, 1, yes(8, 0)).as(engine.OpPeek),
			take(firstClass, 9, no(8, never, 0)),
			take(thirdClass, 6, yes(0, 600*ms)),
			take(thirdClass, 1, no(0, 100*ms, 600*ms)),
			take(firstClass, 2, yes(0, 800*ms)),
			take(firstClass, 1, no(0, 100*ms, 800*ms)),
			take(secondClass, 2, yes(0, second)),
			take(thirdClass, 1, no(0, 375*ms, second)),
			take(firstClass, 2, yes(0, 950*ms)).in(250 * ms),
		},
	},
	{
		name: "a guarantee holds in a flood", why: "a class within its guarantee takes from its own bucket, whatever the others take",
		steps: []step{
			take(thirdClass, 6, yes(0, 600*ms)),
			take(thirdClass, 6, no(0, 600*ms, 600*ms)),
			take(firstClass, 2, yes(0, 800*ms)),
			take(thirdClass, 3, no(1, 166666*time.Microsecond, 466666*time.Microsecond)).in(333334 * time.Microsecond),
			take(firstClass, 2, yes(1, 666666*time.Microsecond)),
			take(thirdClass, 1, yes(0, 766666*time.Microsecond)),
			take(secondClass, 2, yes(0, second)),
		},
	},
	{
		name: "what a class does not use is lent", why: "a lone class has the whole rate",
		steps: []step{
			take(thirdClass, 6, yes(0, 600*ms)),
			take(thirdClass, 6, yes(0, 600*ms)).in(600 * ms),
			take(thirdClass, 1, yes(0, 600*ms)).in(100 * ms),
			take(thirdClass, 1, no(0, time.Microsecond, 500001*time.Microsecond)).in(100*ms - time.Microsecond),
		},
	},
	{
		name: "a ceiling", why: "the class has at most 5 units at once and 5 a second, although more are there",
		steps: []step{
			take(secondClass, 6, no(5, never, 0)),
			take(secondClass, 5, yes(0, second)),
			take(secondClass, 1, no(0, 200*ms, second)),
			take(secondClass, 9, want{allowed: true, reset: second, granted: 3}).in(600 * ms).as(engine.OpAtMost),
		},
	},
	{
		name: "a ceiling and an empty limit", why: "the longer wait counts",
		steps: []step{
			take(secondClass, 5, yes(0, second)),
			take(thirdClass, 3, yes(0, second)),
			take(secondClass, 1, no(0, 200*ms, second)),
		},
	},
	{
		name: "no lending", why: "under a ceiling of its guarantee a class borrows nothing",
		steps: []step{
			take(lendsNone[1], 4, yes(0, second)),
			take(lendsNone[1], 1, no(0, 250*ms, second)),
			take(lendsNone[0], 5, yes(0, second)),
			take(lendsNone[1], 4, yes(0, second)).in(second),
		},
	},
	{
		name: "lending down", why: "the overflow of the first class is the second's, and that of the second is everybody's",
		steps: []step{
			take(lendsDown[2], 6, yes(0, 600*ms)),
			take(lendsDown[1], 2, yes(0, 800*ms)),
			take(lendsDown[2], 1, no(0, 300*ms, 800*ms)),
			take(lendsDown[1], 2, no(0, 200*ms, 800*ms)),
			take(lendsDown[0], 2, yes(0, second)),
			take(lendsDown[1], 2, no(0, 400*ms, second)),
		},
	},
	{
		name: "units come back to the class first", why: "then to the shared bucket, and to its ceiling",
		steps: []step{
			take(firstClass, 4, yes(4, 400*ms)),
			take(firstClass, 3, yes(7, 100*ms)).as(engine.OpGive),
			take(thirdClass, 1, yes(5, 100*ms)).as(engine.OpPeek),
			take(firstClass, 30, yes(8, 0)).as(engine.OpGive),
			take(secondClass, 5, yes(0, second)),
			take(secondClass, 5, yes(5, 0)).as(engine.OpGive),
		},
	},
	{
		name: "a reservation of a class", why: "what can have refilled since the charge does not come back: after half a second 1 of 6 units",
		steps: []step{
			take(firstClass, 8, yes(0, 800*ms)).reserve(0),
			settle(1, 2, yes(6, 200*ms)),
			take(firstClass, 6, yes(0, 800*ms)).reserve(0),
			settle(3, 0, yes(6, 200*ms)).in(500 * ms),
			take(secondClass, 5, yes(0, second)).reserve(0),
			settle(5, 1, yes(5, 200*ms)).in(200 * ms),
		},
	},
	{
		name: "a reservation under a ceiling", why: "2 of its 3 units have refilled there, and only the third comes back",
		steps: []step{
			take(secondClass, 3, yes(2, second)).reserve(0),
			take(secondClass, 2, yes(2, second)).in(400 * ms),
			settle(1, 0, yes(3, second)),
		},
	},
	{
		name: "overdrafts of a class", why: "all together are at most one limit of the class, and of its ceiling",
		steps: []step{
			take(thirdClass, 1, yes(5, 100*ms)).reserve(0),
			take(thirdClass, 1, yes(4, 200*ms)).reserve(0),
			settle(1, 9, yes(0, second)).drops(0),
			settle(2, 9, yes(0, 1200*ms)).drops(6),
			take(thirdClass, 6, yes(0, 600*ms)).in(time.Minute),
			take(secondClass, 1, yes(4, 500*ms)).reserve(0).in(time.Minute),
			settle(6, 12, yes(0, 2*second)).drops(2),
		},
	},
	{
		name: "an overdraft of a class", why: "it is paid from the shared bucket and leaves the other guarantees alone",
		steps: []step{
			take(thirdClass, 6, yes(0, 600*ms)).reserve(0),
			settle(1, 20, yes(0, 1200*ms)).drops(8),
			take(firstClass, 2, yes(0, 1400*ms)),
			take(secondClass, 2, yes(0, 1600*ms)),
			take(thirdClass, 1, no(0, 1100*ms, 1600*ms)),
		},
	},
	{
		name: "a guaranteed rate and a clock set back", why: "a little: decided as of the state's instant; far: the state moves to now",
		steps: []step{
			take(thirdClass, 6, yes(0, 600*ms)),
			take(thirdClass, 1, no(0, 300*ms, 800*ms)).in(-200 * ms),
			take(thirdClass, 1, no(0, 100*ms, 600*ms)).in(-time.Hour),
			take(thirdClass, 1, yes(0, 600*ms)).in(100 * ms),
			take(thirdClass, 5, yes(5, 400*ms)).as(engine.OpGive).in(-300 * ms),
			take(thirdClass, 5, yes(0, 900*ms)).reserve(0),
			settle(6, 20, yes(0, 1500*ms)).drops(9),
			take(thirdClass, 1, no(0, 1800*ms, 2300*ms)).in(-800 * ms),
		},
	},
	{
		name: "a guaranteed rate beside others", why: "all or nothing, and at most as much as each has",
		steps: []step{
			{limits: []engine.Limit{thirdClass, fixed(rule.PerMinute(3))}, cost: 4, want: no(3, never, 0)},
			{limits: []engine.Limit{thirdClass, fixed(rule.PerMinute(3))}, cost: 3, want: yes(0, time.Minute)},
			{limits: []engine.Limit{thirdClass, fixed(rule.PerMinute(3))}, cost: 3, want: no(0, time.Minute, time.Minute)},
		},
	},
})
