package scenarios

import (
	"time"

	"github.com/headgate/headgate/engine"
)

// until turns a step into an OpAtMost whose units can be spent within the given time from the step.
func (s step) until(ahead time.Duration) step {
	s.kind, s.ahead, s.want.granted = engine.OpAtMost, ahead, s.cost
	return s
}

// Cases for prefetched units. In a sliding log, such units count from the last instant when they can
// be spent, so that no span admits more than the limit.
var _ = register([]scenario{
	{
		name: "taken ahead", why: "every span counts the units that can be spent in it",
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
		name: "given back before they count", why: "the handle names the entry at its own instant",
		steps: []step{
			take(tenths, 5, yes(5, 1300*ms)).until(300 * ms),
			take(tenths, 2, yes(3, 1300*ms)).in(100 * ms).until(300 * ms),
			take(tenths, 4, yes(7, 1300*ms)).of(1),
			take(tenths, 4, yes(9, 1200*ms)).of(2),
		},
	},
	{
		name: "given back in between", why: "entries that lie ahead stay at their instant",
		steps: []step{
			take(tenths, 2, yes(8, second)),
			take(tenths, 1, yes(7, 1300*ms)).until(300 * ms),
			take(tenths, 2, yes(9, 1300*ms)).as(engine.OpGive),
			take(tenths, 1, yes(9, 300*ms)).in(second).as(engine.OpPeek),
		},
	},
	{
		name: "the clock goes back before units taken ahead", why: "callers wait for the instant of the last charge",
		steps: []step{
			take(tenths, 5, yes(5, 1300*ms)).until(300 * ms),
			take(tenths, 1, yes(5, 1500*ms)).in(-200 * ms).as(engine.OpPeek),
			take(tenths, 1, yes(4, 1500*ms)),
			take(tenths, 1, yes(9, second)).in(2 * second),
			take(tenths, 1, yes(8, 1200*ms)).in(-200 * ms),
		},
	},
	{
		name: "the clock goes back far before units taken ahead", why: "no entry lies further ahead than units can be taken ahead",
		steps: []step{
			take(tenths, 5, yes(5, 1300*ms)).until(300 * ms),
			take(tenths, 1, yes(4, 1300*ms)).in(-time.Hour),
		},
	},
	{
		name: "the clock goes back far, and no entry lies ahead any more", why: "the units taken ahead have been reached, and later charges are entered at now",
		steps: []step{
			take(tenths, 5, yes(5, 1300*ms)).until(300 * ms),
			take(tenths, 1, yes(4, second)).in(500 * ms),
			take(tenths, 1, yes(3, second)).in(-time.Hour),
		},
	},
})
