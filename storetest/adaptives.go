package storetest

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/rule"
)

var (
	adapting = rule.AdaptiveRate(rule.PerSecond(8), 4, 16, rule.Burst(8))
	// lowered is the same counter with a smaller maximum, and hurried with shorter intervals and pauses.
	lowered = rule.AdaptiveRate(rule.PerSecond(4), 4, 4, rule.Burst(8))
	hurried = rule.AdaptiveRate(rule.PerSecond(8), 4, 16, rule.Burst(8), engine.Setting{Field: "interval", Span: 100 * ms},
		engine.Setting{Field: "max_pause", Span: 2 * second}, engine.Setting{Field: "failures", Units: 50})
)

// reporting adds outcomes of earlier requests to the step.
func (s step) reporting(good, bad int64, pause time.Duration) step {
	s.report = &algo.Report{Good: good, Bad: bad, Pause: pause.Microseconds()}
	return s
}

var adaptives = []scenario{
	{
		name: "failures lower the rate", why: "one step of an eighth an interval, at the first decision after it, for the units of that time on",
		steps: []step{
			take(adapting, 8, yes(0, second)).reporting(10, 10, 0),
			take(adapting, 1, yes(7, ms)).as(engine.OpPeek).in(999 * ms),
			take(adapting, 8, yes(0, 1142858*time.Microsecond)).in(ms),
			take(adapting, 8, no(7, 142858*time.Microsecond, 142858*time.Microsecond)).in(second),
		},
	},
	{
		name: "use and success raise the rate", why: "by a 64th; without use it stays",
		steps: []step{
			take(adapting, 8, yes(0, second)).reporting(20, 1, 0),
			take(adapting, 8, yes(0, 984616*time.Microsecond)).in(second).reporting(20, 0, 0),
			take(adapting, 1, yes(7, 123077*time.Microsecond)).in(10*second).reporting(20, 0, 0),
		},
	},
	{
		name: "fewer than ten reports are no step", why: "a few outcomes prove nothing; they count later",
		steps: []step{
			take(adapting, 8, yes(0, second)).reporting(0, 9, 0),
			take(adapting, 8, yes(0, second)).in(second),
			take(adapting, 8, yes(0, second)).in(second).reporting(0, 1, 0),
			take(adapting, 8, yes(0, 1142858*time.Microsecond)).in(second),
		},
	},
	{
		name: "a pause stops all requests", why: "at once, and at most for the longest pause of the call",
		steps: []step{
			take(hurried, 1, no(0, 1500*ms, 1500*ms)).reporting(0, 1, 1500*ms),
			take(hurried, 1, no(0, 500*ms, 500*ms)).in(second),
			take(hurried, 3, want{reset: 500 * ms, retry: 500 * ms}).as(engine.OpAtMost),
			take(hurried, 8, yes(0, second)).in(500 * ms),
			take(hurried, 1, no(0, 2*second, 2*second)).reporting(0, 0, time.Hour),
			take(hurried, 1, yes(7, 125*ms)).in(2 * second),
		},
	},
	{
		name: "reports of denied and free requests count", why: "they are about earlier requests",
		steps: []step{
			take(hurried, 8, yes(0, second)),
			take(hurried, 1, no(0, 125*ms, second)).reporting(0, 10, 0),
			take(hurried, 0, yes(0, 1028572*time.Microsecond)).in(100*ms).reporting(0, 10, 0),
			take(hurried, 8, no(0, 1028572*time.Microsecond, 1028572*time.Microsecond)),
		},
	},
	{
		name: "two versions of an adaptive rate", why: "each brings the rate into its own bounds, and the units that it refilled stay",
		steps: []step{
			take(adapting, 8, yes(0, second)),
			take(lowered, 4, yes(0, 2*second)).in(500 * ms),
			take(adapting, 1, no(0, 250*ms, 2*second)),
		},
	},
	{
		name: "a raise before a settlement", why: "the reservation knows only the slower refill, so nothing comes back",
		steps: []step{
			take(hurried, 8, yes(0, second)).reserve(0).reporting(20, 0, 0),
			take(hurried, 4, yes(0, 984616*time.Microsecond)).in(500 * ms).reserve(0),
			settle(2, 1, yes(3, 615385*time.Microsecond)),
			settle(1, 0, yes(3, 615385*time.Microsecond)),
		},
	},
	{
		name: "the state of an adaptive rate ends", why: "after 600 intervals without a request the rate begins anew",
		steps: []step{
			take(hurried, 8, yes(0, second)).reporting(0, 10, 0),
			take(hurried, 8, no(0, 1028572*time.Microsecond, 1028572*time.Microsecond)).in(100 * ms),
			take(hurried, 8, yes(0, second)).in(61 * second),
		},
	},
}
