package storetest

import (
	"time"

	"github.com/headgate/headgate/engine"
)

// until makes a step take as many units as there are, which can be spent for so
// long.
func (s step) until(ahead time.Duration) step {
	s.kind, s.ahead, s.want.granted = engine.OpAtMost, ahead, s.cost
	return s
}

// ahead: units of a log that are taken in advance count from the last instant at
// which they can be spent, so that no span lets more through than the limit.
var ahead = []scenario{
	{
		name: "taken in advance", why: "every span counts what can be spent in it",
		steps: []step{
			take(tenths, 5, yes(5, 1300*ms)).until(300 * ms),
			take(tenths, 4, yes(1, 1200*ms)).in(100 * ms),
			take(tenths, 1, yes(0, 1200*ms)),
			take(tenths, 1, no(0, 1200*ms, 1200*ms)),
			take(tenths, 1, no(0, time.Microsecond, time.Microsecond)).in(1200*ms - time.Microsecond),
			take(tenths, 10, yes(0, second)).in(time.Microsecond),
		},
	},
	{
		name: "given back in advance", why: "by handle it is the entry where it lies",
		steps: []step{
			take(tenths, 5, yes(5, 1300*ms)).until(300 * ms),
			take(tenths, 2, yes(3, 1300*ms)).in(100 * ms).until(300 * ms),
			take(tenths, 4, yes(7, 1300*ms)).of(1),
			take(tenths, 4, yes(9, 1200*ms)).of(2),
		},
	},
	{
		name: "given back in between", why: "what was taken in advance stays where it lies",
		steps: []step{
			take(tenths, 2, yes(8, second)),
			take(tenths, 1, yes(7, 1300*ms)).until(300 * ms),
			take(tenths, 2, yes(9, 1300*ms)).as(engine.OpGive),
			take(tenths, 1, yes(9, 300*ms)).in(second).as(engine.OpPeek),
		},
	},
	{
		name: "the clock goes back behind what was taken in advance", why: "the last charge is waited for",
		steps: []step{
			take(tenths, 5, yes(5, 1300*ms)).until(300 * ms),
			take(tenths, 1, yes(5, 1500*ms)).in(-200 * ms).as(engine.OpPeek),
			take(tenths, 1, yes(4, 1500*ms)),
			take(tenths, 1, yes(9, second)).in(2 * second),
			take(tenths, 1, yes(8, 1200*ms)).in(-200 * ms),
		},
	},
	{
		name: "the clock goes back far behind what was taken in advance", why: "nothing lies further ahead than it may",
		steps: []step{
			take(tenths, 5, yes(5, 1300*ms)).until(300 * ms),
			take(tenths, 1, yes(4, 1300*ms)).in(-time.Hour),
		},
	},
	{
		name: "the clock goes back far, and nothing lies ahead any more", why: "what was taken in advance is over, and later charges lie at now",
		steps: []step{
			take(tenths, 5, yes(5, 1300*ms)).until(300 * ms),
			take(tenths, 1, yes(4, second)).in(500 * ms),
			take(tenths, 1, yes(3, second)).in(-time.Hour),
		},
	},
}
