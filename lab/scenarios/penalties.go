package scenarios

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
)

var (
	punished = []engine.Limit{
		rule.TokenBucket(rule.PerSecond(1)),
		rule.Penalty(rule.PerMinute(3), rule.Block(8*time.Second), rule.MaxBlock(24*time.Second)),
	}
	patient = []engine.Limit{
		rule.TokenBucket(rule.PerSecond(1)),
		rule.Penalty(rule.Per(4, 10*time.Second), rule.Block(8*time.Second), rule.MaxBlock(24*time.Second)),
	}
	hasty = []engine.Limit{
		rule.TokenBucket(rule.PerSecond(1)),
		rule.Penalty(rule.PerSecond(4), rule.Block(time.Second), rule.MaxBlock(time.Second), rule.Forget(8*time.Second)),
	}
	hourly = []engine.Limit{rule.FixedWindow(rule.PerHour(1)), rule.Penalty(rule.PerMinute(1), rule.Forget(time.Hour))}
	steady = []engine.Limit{
		rule.TokenBucket(rule.PerSecond(1)),
		rule.Penalty(rule.PerMinute(1), rule.Block(ms), rule.MaxBlock(ms), rule.Forget(time.Hour), rule.Named("steady")),
	}
	punishing = append([]engine.Limit{rule.FixedWindow(rule.PerHour(100), rule.CountDenied())}, punished...)
)

func offend(limits []engine.Limit, cost int64, w want) step {
	return step{limits: limits, cost: cost, want: w}
}

// flood returns an allowed request that takes the only unit of a second, followed by the given number of denied
// requests. All denied requests except the first ignore a denial.
func flood(limits []engine.Limit, denied int) []step {
	steps := []step{offend(limits, 1, yes(0, second))}
	for range denied {
		steps = append(steps, offend(limits, 1, no(0, second, second)))
	}
	return steps
}

// Cases for penalties. A block that begins at time t in µs is shorter than its nominal length by
// t mod (length/8 + 1).
var _ = register([]scenario{
	{
		name: "ignored denials begin a block", why: "the third denial before retry-after blocks the key; the first one told it to wait",
		steps: append(flood(punished, 2),
			offend(punished, 1, no(0, 750*ms, 750*ms)).in(250*ms),
			offend(punished, 0, want{allowed: true, reset: 750 * ms}),
			offend(punished, 1, no(0, block(8*second, 250*ms), 24*second)),
			offend(punished, 1, no(0, block(8*second, 250*ms)-4*second, 20*second)).in(4*second),
			offend(punished, 9, no(1, never, 0)),
			offend(punished, 1, want{reset: 20 * second, retry: block(8*second, 250*ms) - 4*second}).as(engine.OpAtMost),
			offend(punished, 1, yes(0, second)).in(block(8*second, 250*ms)-4*second),
		),
	},
	{
		name: "a caller that waits as told is never blocked", why: "only denials before retry-after count",
		steps: func() (all []step) {
			all = append(all, offend(punished, 1, yes(0, second)))
			for range 9 {
				all = append(all, offend(punished, 1, no(0, second, second)), offend(punished, 1, yes(0, second)).in(second))
			}
			return all
		}(),
	},
	{
		name: "a wait longer than the window", why: "a caller that returns after the penalty's window has not ignored a denial that states an hour",
		steps: []step{
			offend(hourly, 1, yes(0, time.Hour)),
			offend(hourly, 1, no(0, time.Hour, time.Hour)),
			offend(hourly, 1, no(0, 59*time.Minute, 59*time.Minute)).in(time.Minute),
			offend(hourly[1:], 1, yes(1, time.Minute)), // a single ignored denial begins a block
			offend(hourly, 1, no(0, 59*time.Minute, 59*time.Minute)),
			offend(hourly[1:], 1, no(0, block(time.Minute, time.Minute), time.Hour)),
		},
	},
	{
		name: "denials of a minute ago do not count", why: "the denials of a block are within its window",
		steps: append(flood(punished, 3),
			offend(punished, 1, yes(0, second)).in(time.Minute),
			offend(punished, 1, no(0, second, second)),
			offend(punished, 1, no(0, second, second)),
			offend(punished, 1, no(0, second, second)),
			offend(punished, 1, no(0, block(8*second, time.Minute), 24*second)),
		),
	},
	{
		name: "nothing counts during a block", why: "a blocked key is not counted by other limits",
		steps: append(flood(punishing, 3),
			offend(punishing, 1, no(0, block(8*second, 0), 24*second)),
			offend(punishing[:1], 1, yes(94, time.Hour)),
			offend(punishing, 1, no(0, block(8*second, 0), 24*second)),
			offend(punishing, 1, no(0, block(8*second, 0), 24*second)),
			offend(punishing[:1], 1, yes(93, time.Hour)),
		),
	},
	{
		name: "blocks double, and half as many denials begin them", why: "repeat offenders are blocked for longer, at most 24 s here",
		steps: append(flood(punished, 3),
			offend(punished, 1, no(0, block(8*second, 0), 24*second)),
			offend(punished, 1, yes(0, second)).in(8*second),
			offend(punished, 1, no(0, second, second)),
			offend(punished, 1, no(0, block(16*second, 8*second), 48*second)),
			offend(punished, 1, yes(0, second)).in(16*second),
			offend(punished, 1, no(0, second, second)),
			offend(punished, 1, no(0, block(24*second, 24*second), 72*second)),
			offend(punished, 1, yes(0, second)).in(24*second),
			offend(punished, 1, no(0, second, second)),
			offend(punished, 1, no(0, block(24*second, 48*second), 72*second)),
		),
	},
	{
		name: "blocks are forgotten", why: "after 24 s each, the next block is as short as the first",
		steps: append(flood(punished, 3),
			offend(punished, 1, no(0, block(8*second, 0), 24*second)),
			offend(punished, 1, yes(0, second)).in(24*second),
			offend(punished, 1, no(0, second, second)),
			offend(punished, 1, no(0, second, second)),
			offend(punished, 1, no(0, second, second)),
			offend(punished, 1, no(0, block(8*second, 24*second), 24*second)),
		),
	},
	{
		name: "blocks are forgotten one by one", why: "with one of two blocks forgotten, two ignored denials of 10 s begin the next",
		steps: append(flood(patient, 4),
			offend(patient, 1, no(0, block(8*second, 0), 24*second)),
			offend(patient, 1, yes(0, second)).in(8*second),
			offend(patient, 1, no(0, second, second)),
			offend(patient, 1, no(0, second, second)),
			offend(patient, 1, yes(0, second)).in(10*second), // the last window ends here
			offend(patient, 1, no(0, second, second)),
			offend(patient, 1, no(0, second, second)),
			offend(patient, 1, no(0, block(16*second, 18*second), 48*second)),
			offend(patient, 1, yes(0, second)).in(24*second),
			offend(patient, 1, no(0, second, second)),
			offend(patient, 1, no(0, second, second)),
			offend(patient, 1, no(0, block(16*second, 42*second), 48*second)),
		),
	},
	{
		name: "two versions of a penalty", why: "each decides by its own numbers, and the last write says when the state ends",
		steps: append(flood(hasty, 3),
			offend(patient, 1, yes(0, second)).in(2*second), // these denials counted for one second
			offend(patient, 1, no(0, second, second)),
			offend(patient, 1, no(0, second, second)),
			offend(patient, 1, no(0, second, second)),
			offend(patient, 1, no(0, second, second)),
			offend(patient, 1, no(0, block(8*second, 2*second), 24*second)),
			offend(hasty, 1, yes(0, second)).in(9*second), // by this limit's own settings the block is already forgotten; it writes nothing
			offend(patient, 1, no(0, second, second)),
			offend(patient, 1, no(0, second, second)),
			offend(patient, 1, no(0, block(16*second, 11*second), 48*second)),
		),
	},
	{
		name: "a second block of the greatest length", why: "blocks that cannot become longer are forgotten as one",
		steps: []step{
			offend(steady, 1, yes(0, second)),
			offend(steady, 1, no(0, second, second)),
			offend(steady, 1, no(0, second, second)), // the first block
			offend(steady, 1, no(0, 999*ms, 999*ms)).in(ms),
			offend(steady, 1, no(0, 999*ms, 999*ms)), // the second
			offend(steady[1:], 1, yes(1, time.Hour-999*ms)).in(999 * ms),
		},
	},
	{
		name: "ignored denials before the clock was set back", why: "far back, they count from now",
		steps: []step{
			offend(punished, 1, yes(0, second)).in(time.Hour),
			offend(punished, 1, no(0, second, second)),
			offend(punished, 1, no(0, second, second)),
			offend(punished, 1, no(0, second, second)).in(-10 * time.Minute), // it was told nothing at this time
			offend(punished, 1, no(0, second, second)),
			offend(punished, 1, no(0, block(8*second, 50*time.Minute), 24*second)),
		},
	},
	{
		name: "a block after the clock was set back", why: "far back, the block begins now",
		steps: []step{
			offend(punished, 1, yes(0, second)).in(time.Hour),
			offend(punished, 1, no(0, second, second)),
			offend(punished, 1, no(0, second, second)),
			offend(punished, 1, no(0, second, second)),
			offend(punished, 1, no(0, block(8*second, time.Hour), 24*second)),
			offend(punished, 1, no(0, block(8*second, time.Hour)+10*second, 34*second)).in(-10 * second),
			offend(punished, 1, no(0, block(8*second, 50*time.Minute-10*second), 24*second)).in(-10 * time.Minute),
		},
	},
})

// block returns the actual length of a block that begins at the given time after the start of the test.
func block(length, at time.Duration) time.Duration {
	us := headgatetest.NewClock().Now().Add(at).UnixMicro()
	return length - time.Duration(us%(length.Microseconds()/8+1))*time.Microsecond
}
