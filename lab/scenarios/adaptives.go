package scenarios

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/rule"
)

var (
	adapting = rule.AdaptiveRate(rule.PerSecond(8), 4, 16, rule.Burst(8))
	// lowered shares the counter but has a smaller maximum. hurried and falling share the counter too, but have
	// shorter intervals. hurried also has shorter pauses.
	lowered = rule.AdaptiveRate(rule.PerSecond(4), 4, 4, rule.Burst(8))
	hurried = rule.AdaptiveRate(rule.PerSecond(8), 4, 16, rule.Burst(8), engine.Setting{Field: "interval", Span: 100 * ms},
		engine.Setting{Field: "max_pause", Span: 2 * second}, engine.Setting{Field: "failures", Units: 50})
	falling = rule.AdaptiveRate(rule.PerSecond(8), 1, 16, rule.Burst(8), engine.Setting{Field: "interval", Span: 100 * ms})
)

// reporting adds outcomes of earlier requests to the step.
func (s step) reporting(good, bad int64, pause time.Duration) step {
	s.report = &algo.Report{Good: good, Bad: bad, Pause: pause.Microseconds()}
	return s
}

var _ = register([]scenario{
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
		name: "half of the rate is no reason for a raise", why: "a raise needs three quarters",
		steps: []step{
			take(adapting, 4, yes(4, 500*ms)).reporting(20, 0, 0),
			take(adapting, 8, yes(0, second)).in(second),
		},
	},
	{
		name: "use in a long interval", why: "it is compared with the capacity of 64 intervals at most: 40 units with three quarters of 51",
		steps: []step{
			take(falling, 8, yes(0, second)),
			take(falling, 8, yes(0, second)).in(2500 * ms),
			take(falling, 8, yes(0, second)).in(2500 * ms),
			take(falling, 8, yes(0, second)).in(2500 * ms),
			take(falling, 8, yes(0, second)).in(2500*ms).reporting(20, 0, 0),
			take(falling, 8, yes(0, 984616*time.Microsecond)).in(2 * second),
		},
	},
	{
		name: "a rate falls by at least an eighth", why: "4802 parts of 1/1024 fall by 601, not by 600",
		steps: func() []step {
			steps := []step{take(falling, 8, yes(0, second)).reporting(0, 10, 0)}
			for i, reset := range []int64{1028572, 1061225, 1098543, 1141192, 1190146, 1246177} {
				remaining := []int64{0, 1, 2, 2, 3, 3}[i]
				steps = append(steps, take(falling, 0, yes(remaining, time.Duration(reset)*time.Microsecond)).in(100*ms).reporting(0, 10, 0))
			}
			return steps
		}(),
	},
	{
		name: "an interval after the clock was set back far", why: "it begins where the clock is",
		steps: []step{
			take(hurried, 8, yes(0, second)).reporting(0, 10, 0),
			take(hurried, 8, no(0, second, second)).in(-time.Hour),
			take(hurried, 8, no(0, 1028572*time.Microsecond, 1028572*time.Microsecond)).in(100 * ms),
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
		name: "a settlement beyond an adaptive rate", why: "by one burst; what is missing of a unit counts as a unit",
		steps: []step{
			take(adapting, 4, yes(4, 500*ms)).reserve(0),
			settle(1, 40, yes(0, 1900*ms)).drops(24).in(100 * ms),
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
})
