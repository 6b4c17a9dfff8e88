package scenarios

import (
	"math"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

func count(limit engine.Limit, cost int64, w want, granted int64) step {
	w.granted = granted
	return take(limit, cost, w).as(engine.OpCount)
}

// Cases for [engine.OpCount].
var _ = register([]scenario{
	{
		name: "count", why: "every unit is counted, those of denied requests too, without a cap",
		steps: []step{
			count(rule.FixedWindow(rule.PerMinute(3)), 2, yes(1, time.Minute), 2),
			count(rule.FixedWindow(rule.PerMinute(3)), 2, no(0, time.Minute, time.Minute), 1),
			count(rule.FixedWindow(rule.PerMinute(3)), 5, no(0, 59*time.Second, 59*time.Second), 0).in(time.Second),
			take(rule.FixedWindow(rule.PerMinute(3)), 5, yes(0, 59*time.Second)).as(engine.OpGive),
			take(rule.FixedWindow(rule.PerMinute(3)), 2, yes(1, 59*time.Second)).as(engine.OpGive),
			count(rule.FixedWindow(rule.PerMinute(3)), 1, yes(0, 59*time.Second), 1),
		},
	},
	{
		name: "count of nothing", why: "a cost of 0 only compares what was counted with the limit",
		steps: []step{
			count(rule.FixedWindow(rule.PerMinute(3)), 0, yes(3, 0), 0),
			count(rule.FixedWindow(rule.PerMinute(3)), 3, yes(0, time.Minute), 3),
			count(rule.FixedWindow(rule.PerMinute(3)), 0, yes(0, time.Minute), 0),
			count(rule.FixedWindow(rule.PerMinute(3)), 1, no(0, time.Minute, time.Minute), 0),
			count(rule.FixedWindow(rule.PerMinute(3)), 0, no(0, time.Minute, time.Minute), 0),
		},
	},
	{
		name: "count beyond the largest limit", why: "a window counts up to 2^48-1 units and does not wrap",
		steps: []step{
			count(rule.FixedWindow(rule.PerMinute(3)), math.MaxInt64, no(0, time.Minute, time.Minute), 3),
			count(rule.FixedWindow(rule.PerMinute(3)), math.MaxInt64, no(0, time.Minute, time.Minute), 0),
			take(rule.FixedWindow(rule.PerMinute(3)), most-2, yes(1, time.Minute)).as(engine.OpGive),
			count(rule.FixedWindow(rule.PerMinute(3)), 1, yes(0, time.Minute), 1),
			count(rule.FixedWindow(rule.PerMinute(3)), 1, yes(2, time.Minute), 1).in(time.Minute),
		},
	},
	{
		name: "count after the clock was set back", why: "the units stay in the stored window, and a far step moves them",
		steps: []step{
			count(rule.FixedWindow(rule.PerMinute(3)), 2, yes(1, time.Minute), 2),
			count(rule.FixedWindow(rule.PerMinute(3)), 2, no(0, 100*time.Second, 100*time.Second), 1).in(-40 * time.Second),
			count(rule.FixedWindow(rule.PerMinute(3)), 1, no(0, time.Minute, time.Minute), 0).in(-time.Hour),
		},
	},
})
