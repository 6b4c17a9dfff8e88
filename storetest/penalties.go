package storetest

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
)

var (
	punished = []engine.Limit{
		bucket(rule.PerSecond(1)),
		rule.Penalty(rule.PerMinute(3), rule.Block(8*time.Second), rule.MaxBlock(24*time.Second)),
	}
	patient = []engine.Limit{
		bucket(rule.PerSecond(1)),
		rule.Penalty(rule.Per(4, 10*time.Second), rule.Block(8*time.Second), rule.MaxBlock(24*time.Second)),
	}
	hasty = []engine.Limit{
		bucket(rule.PerSecond(1)),
		rule.Penalty(rule.PerSecond(4), rule.Block(time.Second), rule.MaxBlock(time.Second), rule.Forget(8*time.Second)),
	}
	softened   = []engine.Limit{rule.Penalty(rule.PerMinute(4), rule.Soft(), rule.Forget(24*time.Second)), divided}
	softApart  = []engine.Limit{softened[0], bucket(rule.PerSecond(1000)), divided}
	hardened   = []engine.Limit{rule.Penalty(rule.PerMinute(1), rule.Block(ms), rule.MaxBlock(64*ms), rule.Forget(time.Hour)), divided}
	relaxed    = []engine.Limit{rule.Penalty(rule.PerMinute(1), rule.Soft(), rule.Forget(time.Hour)), divided}
	softGroups = []engine.Limit{rule.Penalty(rule.PerMinute(1), rule.Soft()), nested}
	punishing  = append([]engine.Limit{fixed(rule.PerHour(100), rule.CountDenied())}, punished...)
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
		name: "strikes of a soft penalty", why: "the fourth ignored denial halves the key's part, also in its own answer, while any units are missing",
		steps: []step{
			offend(softened, 10, yes(0, second)),
			offend(softened, 1, no(0, 100*ms, second)),
			offend(softened, 1, no(0, 100*ms, second)),
			offend(softened, 1, no(0, 100*ms, second)),
			offend(softened, 1, no(0, 100*ms, second)),
			offend(softened, 1, no(0, 433594*time.Microsecond, second)),
			offend(softened, 1, want{reset: second, retry: 433594 * time.Microsecond}).as(engine.OpAtMost),
			offend(softened, 1, no(0, time.Microsecond, 566407*time.Microsecond)).in(433593 * time.Microsecond),
			offend(softened, 1, yes(0, 666406*time.Microsecond)).in(time.Microsecond),
			offend(softened, 11, no(0, never, 666406*time.Microsecond)),
			offend(softened, 10, no(0, 666406*time.Microsecond, 666406*time.Microsecond)),
			offend(softened, 1, yes(10, 0)).in(666406 * time.Microsecond).as(engine.OpPeek),
			offend(softened, 10, yes(0, second)),
			offend(softened, 10, yes(0, second)).in(time.Minute),
			offend(softened, 1, no(0, 100*ms, second)),
		},
	},
	{
		name: "strikes in a group", why: "they lower the key's part of its group's room, and not the group's part",
		steps: []step{
			offend(softGroups, 8, yes(0, 800*ms)).by("a:x"),
			offend(softGroups, 8, want{retry: 711329 * time.Microsecond, reset: 800000 * time.Microsecond}).by("a:x"),
			offend(softGroups, 8, want{retry: 800000 * time.Microsecond, reset: 800000 * time.Microsecond}).by("a:x"),
			offend(softGroups, 1, want{allowed: true, remaining: 7, reset: 100000 * time.Microsecond}).by("b:y").in(time.Second),
			offend(softGroups, 3, want{allowed: true, remaining: 5, reset: 400000 * time.Microsecond}).by("a:z"),
			offend(softGroups, 1, want{allowed: true, remaining: 5, reset: 400000 * time.Microsecond}).by("a:x").as(engine.OpPeek),
			offend(softGroups, 9, want{allowed: true, reset: 900000 * time.Microsecond, granted: 5}).by("a:x").as(engine.OpAtMost),
			offend(softGroups, 1, want{allowed: true, remaining: 1, reset: 900000 * time.Microsecond}).by("a:z").as(engine.OpPeek),
			offend(softGroups, 4, want{retry: 438672 * time.Microsecond, reset: 900000 * time.Microsecond}).by("a:x"),
		},
	},
	{
		name: "strikes reach every limit after the penalty", why: "another limit in between changes nothing",
		steps: []step{
			offend(softApart, 10, yes(0, second)),
			offend(softApart, 1, no(0, 100*ms, second)),
			offend(softApart, 1, no(0, 100*ms, second)),
			offend(softApart, 1, no(0, 100*ms, second)),
			offend(softApart, 1, no(0, 100*ms, second)),
			offend(softApart, 1, no(0, 433594*time.Microsecond, second)),
			offend(softApart, 1, no(0, 433594*time.Microsecond, second)),
			offend(softApart, 1, no(0, time.Microsecond, 566407*time.Microsecond)).in(433593 * time.Microsecond),
		},
	},
	{
		name: "five blocks are three strikes", why: "a soft version of a penalty lowers a part to an eighth at most",
		steps: func() (all []step) {
			all = append(all, offend(hardened, 10, yes(0, second)))
			for full := 930 * ms; full > 600*ms; full -= 70 * ms {
				all = append(all, offend(hardened, 10, no(int64((second-full)/(100*ms)), full, full)).in(70*ms), offend(hardened, 10, no(int64((second-full)/(100*ms)), full, full)))
			}
			return append(all, offend(relaxed, 1, no(0, 458125*time.Microsecond, 580*ms)).in(70*ms))
		}(),
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
