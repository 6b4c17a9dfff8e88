package scenarios

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

func both(cost int64, w want) step {
	return step{cost: cost, want: w, limits: []engine.Limit{
		rule.TokenBucket(rule.PerSecond(10)), rule.FixedWindow(rule.PerMinute(12), rule.Named("total")),
	}}
}

var _ = register([]scenario{
	{
		name: "all or nothing", why: "a request that one limit denies is charged to none",
		steps: []step{
			both(10, yes(0, second)),
			both(2, no(0, 200*ms, second)),
			both(5, no(2, time.Minute, time.Minute)),
			both(5, no(2, 59*second, 59*second)).in(second),
			both(2, yes(0, 59*second)),
			take(rule.TokenBucket(rule.PerSecond(10)), 8, yes(0, second)),
		},
	},
	{
		name: "at most of several", why: "the tightest limit decides how many",
		steps: []step{
			{kind: engine.OpAtMost, cost: 20, limits: both(0, want{}).limits, want: want{allowed: true, reset: second, granted: 10}},
			{after: second, kind: engine.OpAtMost, cost: 20, limits: both(0, want{}).limits, want: want{allowed: true, reset: 59 * second, granted: 2}},
		},
	},
	{
		name: "set back far under several limits", why: "a denied request writes, on each limit, that the clock was set back",
		steps: []step{
			moving(9, yes(1, 70*second)),
			moving(9, no(1, 70*second, 70*second)).in(-time.Hour).as(engine.OpPeek),
			moving(11, no(1, never, 900*ms)),
			moving(9, no(1, 60*second, 60*second)).in(10 * second),
			moving(9, yes(1, 70*second)).in(60 * second),
		},
	},
	{
		name: "set back a little under several limits", why: "each limit waits until the clock reaches its own instant again",
		steps: []step{
			moving(10, yes(0, 70*second)),
			moving(1, no(0, 71*second, 71*second)).in(-second),
			moving(3, yes(3, 71*second)).as(engine.OpGive),
			moving(3, yes(0, 71*second)),
		},
	},
	{
		name: "denials count in a window that has not begun", why: "the denied request begins it",
		steps: []step{
			take(rule.TokenBucket(rule.PerSecond(2)), 2, yes(0, second)),
			countingBoth(1, no(0, 500*ms, second)),
			take(rule.FixedWindow(rule.PerMinute(9), rule.CountDenied()), 0, yes(8, time.Minute)),
		},
	},
	{
		name: "denials count in the largest window", why: "a log keeps the units of its largest window, wherever that stands in the list",
		steps: []step{
			take(rule.SlidingLog(rule.PerMinute(5), rule.And(rule.PerSecond(2)), rule.CountDenied()), 2, yes(0, time.Minute)),
			take(rule.SlidingLog(rule.PerMinute(5), rule.And(rule.PerSecond(2)), rule.CountDenied()), 2, no(1, time.Minute, time.Minute)),
			take(rule.SlidingLog(rule.PerMinute(5), rule.And(rule.PerSecond(2)), rule.CountDenied()), 2, no(0, 59500*ms, time.Minute)).in(500 * ms),
		},
	},
	{
		name: "denials count where set", why: "whichever limit denied, the limits that count denials count it, and no others",
		steps: []step{
			countingBoth(2, yes(0, second)), countingBoth(1, no(0, 500*ms, second)),
			take(rule.FixedWindow(rule.PerMinute(9), rule.CountDenied()), 0, yes(6, time.Minute)),
		},
	},
})

// moving returns a step on limits that all react to a clock that is set back.
func moving(cost int64, w want) step {
	return step{cost: cost, want: w, limits: []engine.Limit{
		rule.TokenBucket(rule.PerSecond(10)), rule.FixedWindow(rule.PerMinute(10), rule.Named("total")),
		rule.SlidingWindow(rule.PerMinute(10), rule.Segments(6), rule.Strict()), rule.SlidingLog(rule.PerMinute(10)),
	}}
}

func countingBoth(cost int64, w want) step {
	return step{cost: cost, want: w, limits: []engine.Limit{
		rule.TokenBucket(rule.PerSecond(2)), rule.FixedWindow(rule.PerMinute(9), rule.CountDenied()),
	}}
}

func calendar(rate engine.Rate, zone string) engine.Limit {
	return rule.FixedWindow(rate, rule.Align(zone))
}

// Cases for calendar windows. The clock starts at 2026-01-01 00:00 UTC, a Thursday.
var _ = register([]scenario{
	{
		name: "day", why: "the day in Shanghai begins at 16:00 UTC",
		steps: []step{{cost: 1, limits: []engine.Limit{calendar(rule.PerDay(3), "Asia/Shanghai")}, want: yes(2, 16*time.Hour)}},
	},
	{
		name: "week", why: "weeks begin on Monday",
		steps: []step{{cost: 1, limits: []engine.Limit{calendar(rule.Per(3, 7*24*time.Hour), "UTC")}, want: yes(2, 4*24*time.Hour)}},
	},
	{
		name: "month and year", why: "months have 28 to 31 days",
		steps: []step{
			{cost: 1, limits: []engine.Limit{calendar(engine.Rate{Count: 3, Months: 1}, "UTC")}, want: yes(2, 31*24*time.Hour)},
			{after: 31 * 24 * time.Hour, cost: 1, limits: []engine.Limit{calendar(engine.Rate{Count: 3, Months: 1}, "UTC")}, want: yes(2, 28*24*time.Hour)},
		},
	},
	{
		name: "a day of 23 hours", why: "on 29 March 2026 the clock of Berlin is set forward",
		steps: []step{{after: 87*24*time.Hour - time.Hour, cost: 1, limits: []engine.Limit{calendar(rule.PerDay(3), "Europe/Berlin")}, want: yes(2, 23*time.Hour)}},
	},
	{
		name: "a day of 25 hours", why: "on 25 October 2026 it is set back",
		steps: []step{{after: 297*24*time.Hour - 2*time.Hour, cost: 1, limits: []engine.Limit{calendar(rule.PerDay(3), "Europe/Berlin")}, want: yes(2, 25*time.Hour)}},
	},
	{
		name: "a day without midnight", why: "on 24 April 2026 the clock of Cairo skips from 00:00 to 01:00",
		steps: []step{{after: 113*24*time.Hour - 2*time.Hour, cost: 1, limits: []engine.Limit{calendar(rule.PerDay(3), "Africa/Cairo")}, want: yes(2, 23*time.Hour)}},
	},
	{
		name: "an hour of India", why: "hours begin where the zone's clock shows a whole one",
		steps: []step{{cost: 1, limits: []engine.Limit{calendar(rule.PerHour(3), "Asia/Kolkata")}, want: yes(2, 30*time.Minute)}},
	},
})
