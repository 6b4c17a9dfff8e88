package scenarios

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// settledNow is the number of granted units in the answer to a settle that ended the reservation.
const settledNow = 1

// reserve turns a step into a reserve whose caller accepts a delay.
func (s step) reserve(accepts time.Duration) step {
	s.kind, s.ahead = engine.OpReserve, accepts
	return s
}

// after returns w with the delay that an allowed request is expected to get.
func (w want) after(delay time.Duration) want {
	w.delay = delay
	return w
}

// settle returns a step that ends the reservation made by step n (counted from 1), with the given number of used units.
func settle(n int, used int64, w want) step {
	w.granted = settledNow
	return step{kind: engine.OpSettle, handle: n, cost: used, want: w}
}

// drops sets how many of the used units could not be charged.
func (s step) drops(units int64) step {
	s.dropped = units
	return s
}

// again returns a step that settles a reservation that has already ended. The step must change nothing.
func again(n int, used int64, w want) step {
	return step{kind: engine.OpSettle, handle: n, cost: used, want: w}
}

// each returns a step that takes one unit of each limit.
func each(w want, limits ...engine.Limit) step {
	return step{limits: limits, cost: 1, want: w}
}

// century is a hundred years in seconds.
const century = 36525 * 24 * 3600

var (
	paced   = rule.Pacer(rule.PerSecond(10), rule.MaxQueue(3))
	spaced  = rule.TokenBucket(rule.PerSecond(10), rule.Burst(1))
	spacedA = rule.TokenBucket(rule.PerSecond(10), rule.Burst(1), rule.Named("a"))
	roomy   = rule.TokenBucket(rule.PerSecond(1), rule.Burst(10))
	indebt  = rule.TokenBucket(rule.PerSecond(1), rule.Burst(10), rule.AllowDebt(5), rule.Named("debt"))
	indebt9 = rule.TokenBucket(rule.PerSecond(1), rule.Burst(9), rule.AllowDebt(5), rule.Named("debt"))
	quick   = rule.TokenBucket(rule.PerSecond(2), rule.Burst(10))
	wide    = rule.TokenBucket(rule.PerSecond(10), rule.Burst(20))

	hundred     = rule.TokenBucket(rule.PerSecond(1), rule.Burst(100))
	hundredFast = rule.TokenBucket(rule.PerSecond(1000), rule.Burst(100))
	roomyWide   = rule.TokenBucket(rule.PerSecond(1), rule.Burst(20))
	fairQueue   = rule.FairPacer(rule.PerSecond(10), rule.Burst(10), rule.MaxQueue(30), rule.Named("queue"))
	pacedTen    = rule.Pacer(rule.PerSecond(10), rule.Burst(10), rule.MaxQueue(20))

	guava   = rule.TokenBucket(rule.PerSecond(1), rule.Burst(1), rule.NextPays())
	minutes = rule.FixedWindow(rule.PerMinute(10))
	twofold = rule.SlidingLog(rule.Per(5, 3*second), rule.And(rule.PerHour(50)), rule.Named("twofold"))

	guavaPacer = rule.Pacer(rule.PerSecond(1), rule.MaxWait(5*second), rule.NextPays())

	denials = rule.FixedWindow(rule.PerMinute(3), rule.CountDenied(), rule.Named("denials"))
)

var _ = register([]scenario{
	{
		name: "reserve ahead in a bucket", why: "callers are spaced by the rate, and none waits longer than it accepts",
		steps: []step{
			take(spaced, 1, yes(0, 100*ms)).reserve(0),
			take(spaced, 1, no(0, 100*ms, 100*ms).after(100*ms)).reserve(0),
			take(spaced, 1, yes(0, 200*ms).after(100*ms)).reserve(100 * ms),
			take(spaced, 1, no(0, 50*ms, 200*ms).after(200*ms)).reserve(150 * ms),
			take(spaced, 2, no(0, never, 200*ms)).reserve(time.Hour),
			take(spaced, 1, no(0, 200*ms, 200*ms)),
			take(spaced, 1, yes(0, 250*ms).after(150*ms)).reserve(time.Hour).in(50 * ms),
		},
	},
	{
		name: "reserve in a pacer", why: "a pacer's own bounds hold too",
		steps: []step{
			take(paced, 3, yes(0, 300*ms).after(200*ms)).reserve(time.Hour),
			take(paced, 1, no(0, 50*ms, 300*ms).after(300*ms)).reserve(250 * ms),
			take(paced, 1, yes(0, 400*ms).after(300*ms)).reserve(300 * ms),
			take(paced, 1, no(0, 100*ms, 400*ms)).reserve(time.Hour),
		},
	},
	{
		name: "a reserve in a pacer states the wait after which it passes", why: "before, 200 ms were stated for ever on an unused limit, and a wait for the queue that ended too early",
		steps: []step{
			take(paced, 3, no(1, never, 0).after(200*ms)).reserve(0),
			take(paced, 3, no(1, never, 0).after(200*ms)).reserve(200*ms - time.Microsecond),
			take(paced, 3, yes(0, 300*ms).after(200*ms)).reserve(200 * ms),
			take(paced, 2, no(0, 300*ms, 300*ms).after(400*ms)).reserve(100 * ms),
			take(paced, 2, no(0, time.Microsecond, time.Microsecond).after(100*ms+time.Microsecond)).reserve(100 * ms).in(300*ms - time.Microsecond),
			take(paced, 2, yes(0, 200*ms).after(100*ms)).reserve(100 * ms).in(time.Microsecond),
			take(paced, 3, no(0, 100*ms, 200*ms).after(400*ms)).reserve(350 * ms),
			take(paced, 3, yes(0, 400*ms).after(300*ms)).reserve(350 * ms).in(100 * ms),
			take(fairQueue, 15, no(20, never, 0).after(500*ms)).reserve(499 * ms),
			take(fairQueue, 15, yes(5, 1500*ms).after(500*ms)).reserve(500 * ms),
		},
	},
	{
		name: "cancel the last of a queue", why: "its slot is the next caller's",
		steps: []step{
			take(spaced, 1, yes(0, 100*ms)).reserve(0),
			take(spaced, 1, yes(0, 200*ms).after(100*ms)).reserve(time.Hour),
			settle(2, 0, yes(0, 100*ms)),
			again(2, 0, yes(0, 100*ms)),
			take(spaced, 1, yes(0, 200*ms).after(100*ms)).reserve(time.Hour),
		},
	},
	{
		name: "cancel with others behind", why: "later callers have their slots: units that they wait behind are not given back",
		steps: []step{
			take(spaced, 1, yes(0, 100*ms)).reserve(0),
			take(spaced, 1, yes(0, 200*ms).after(100*ms)).reserve(time.Hour),
			take(spaced, 1, yes(0, 300*ms).after(200*ms)).reserve(time.Hour),
			settle(2, 0, yes(0, 300*ms)),
			take(spaced, 1, yes(0, 400*ms).after(300*ms)).reserve(time.Hour),
		},
	},
	{
		name: "cancel a large one with a small one behind", why: "a later caller begins at its slot, and needs room for its own units only",
		steps: []step{
			take(roomy, 10, yes(0, 10*second)).reserve(0),
			take(roomy, 5, yes(0, 15*second).after(5*second)).reserve(time.Hour),
			take(roomy, 1, yes(0, 16*second).after(6*second)).reserve(time.Hour),
			settle(2, 0, yes(0, 10*second).after(0)).in(second),
		},
	},
	{
		name: "cancel in a pacer", why: "a slot that has come was used, or is lost",
		steps: []step{
			take(paced, 2, yes(0, 200*ms).after(100*ms)).reserve(time.Hour),
			take(paced, 1, yes(0, 300*ms).after(200*ms)).reserve(time.Hour),
			settle(2, 0, yes(0, 150*ms)).in(50 * ms),
			settle(1, 0, yes(0, 50*ms)).in(100 * ms),
		},
	},
	{
		name: "cancel in a pacer at the slot", why: "at the instant of its slot a caller goes ahead, so its units are used",
		steps: []step{
			take(paced, 3, yes(0, 300*ms).after(200*ms)).reserve(time.Hour),
			settle(1, 0, yes(0, 100*ms)).in(200 * ms),
		},
	},
	{
		name: "cancel after a part has refilled", why: "what a bucket has refilled is not given back once more: 15 units would pass at once",
		steps: []step{
			take(roomy, 6, yes(4, 6*second)).reserve(0),
			settle(1, 0, yes(10, 0)).in(4 * second),
			take(roomy, 5, yes(5, 5*second)).reserve(0),
			take(roomy, 10, yes(0, 10*second)).in(5 * second),
			settle(3, 0, yes(0, 10*second)),
		},
	},
	{
		name: "commit more beyond a hundred years", why: "no bucket is charged more than what refills in a hundred years, and its burst",
		steps: []step{
			take(guava, 1, yes(0, second)).reserve(0),
			take(guava, century, yes(0, (century+1)*second)),
			settle(1, 5, yes(0, (century+1)*second)).drops(4),
		},
	},
	{
		name: "commit less", why: "what was not used comes back",
		steps: []step{
			take(roomy, 8, yes(2, 8*second)).reserve(0),
			settle(1, 3, yes(7, 3*second)),
			again(1, 0, yes(7, 3*second)),
			take(minutes, 8, yes(2, time.Minute)).reserve(0),
			settle(4, 3, yes(7, 59*second)).in(second),
		},
	},
	{
		name: "commit what was reserved", why: "it settles the reservation although nothing changes: a cancel after it gives nothing back",
		steps: []step{
			take(roomy, 8, yes(2, 8*second)).reserve(0),
			settle(1, 8, yes(2, 8*second)),
			again(1, 0, yes(2, 8*second)),
			take(minutes, 8, yes(2, time.Minute)).reserve(0),
			settle(4, 8, yes(2, time.Minute)),
			again(4, 0, yes(2, time.Minute)),
		},
	},
	{
		name: "commit more", why: "more than was reserved is charged in full, one capacity beyond the limit at most; callers wait until it has left",
		steps: []step{
			take(roomy, 4, yes(6, 4*second)).reserve(0),
			settle(1, 7, yes(3, 7*second)),
			take(roomy, 1, yes(2, 8*second)).reserve(0),
			settle(3, 6, yes(0, 13*second)),
			take(roomy, 1, no(0, 4*second, 13*second)),
			take(indebt, 4, yes(6, 4*second)).reserve(0),
			settle(6, 100, yes(0, 25*second)).drops(75),
			take(paced, 1, yes(0, 100*ms)).reserve(0),
			settle(8, 9, yes(0, 500*ms)).drops(4),
			take(minutes, 4, yes(6, time.Minute)).reserve(0),
			settle(10, 100, yes(0, time.Minute)).drops(80),
			take(minutes, 1, no(0, time.Minute, time.Minute)),
			take(minutes, 1, yes(9, time.Minute)).in(time.Minute),
		},
	},
	{
		name: "commit more in windows", why: "what was used beyond a window is denied until it has left, and is remembered for the longer windows",
		steps: []step{
			take(rule.SlidingWindow(rule.Per(10, 10*second), rule.Segments(10), rule.Strict()), 1, yes(9, 11*second)).reserve(0),
			settle(1, 25, yes(0, 11*second)).drops(5),
			take(rule.SlidingWindow(rule.Per(10, 10*second), rule.Segments(10), rule.Strict()), 1, no(0, 11*second, 11*second)),
			take(rule.SlidingLog(rule.Per(5, 10*second)), 2, yes(3, 10*second)).reserve(0),
			settle(4, 9, yes(0, 10*second)),
			take(rule.SlidingLog(rule.Per(5, 10*second)), 1, no(0, second, second)).in(9 * second),
			take(twofold, 1, yes(4, time.Hour)).reserve(0).in(time.Hour),
			settle(7, 60, yes(0, time.Hour)).drops(5),
			take(twofold, 1, no(0, time.Hour-3*second, time.Hour-3*second)).in(3 * second),
		},
	},
	{
		name: "commit more when nothing is left", why: "what others have charged stays",
		steps: []step{
			take(roomy, 4, yes(6, 4*second)).reserve(0),
			take(roomy, 6, yes(0, 10*second)),
			settle(1, 5, yes(0, 11*second)),
			take(minutes, 4, yes(6, time.Minute)).reserve(0),
			take(minutes, 6, yes(0, time.Minute)),
			settle(4, 5, yes(0, time.Minute)),
			take(minutes, 0, yes(0, time.Minute)),
		},
	},
	{
		name: "the end of a reservation", why: "it can be settled for five minutes from its slot, and longer while its units count, but an hour at most",
		steps: []step{
			take(spaced, 1, yes(0, 100*ms)).reserve(0),
			take(spaced, 1, yes(0, 200*ms).after(100*ms)).reserve(time.Hour),
			settle(1, 2, yes(0, 100*ms)).in(5*time.Minute - time.Microsecond),
			again(2, 2, yes(1, 0)).in(100*ms + time.Microsecond),
			take(rule.FixedWindow(rule.PerHour(3)), 1, yes(2, time.Hour)).reserve(0),
			settle(5, 0, yes(3, 0)).in(time.Hour - time.Microsecond),
			take(rule.FixedWindow(rule.PerHour(3)), 1, yes(2, time.Hour)).reserve(0),
			again(7, 0, yes(3, 0)).in(time.Hour),
			take(rule.FixedWindow(rule.PerDay(3)), 1, yes(2, 24*time.Hour)).reserve(0),
			take(rule.FixedWindow(rule.PerDay(3)), 1, yes(1, 24*time.Hour)).reserve(0),
			settle(9, 0, yes(2, 23*time.Hour+time.Microsecond)).in(time.Hour - time.Microsecond),
			again(10, 0, yes(2, 23*time.Hour)).in(time.Microsecond),
		},
	},
	{
		name: "a reservation keeps to its window", why: "units of a window, segment or entry that has gone are not given back to another",
		steps: []step{
			take(minutes, 4, yes(6, time.Minute)).reserve(0),
			take(minutes, 4, yes(6, time.Minute)).in(time.Minute),
			settle(1, 0, yes(6, time.Minute)),
			take(rule.SlidingWindow(rule.Per(10, 10*second), rule.Segments(10), rule.Strict()), 3, yes(7, 11*second)).reserve(0),
			take(rule.SlidingWindow(rule.Per(10, 10*second), rule.Segments(10), rule.Strict()), 2, yes(5, 11*second)).in(second),
			settle(4, 0, yes(8, 11*second)),
			take(rule.SlidingLog(rule.Per(5, 10*second)), 2, yes(3, 10*second)).reserve(0),
			take(rule.SlidingLog(rule.Per(5, 10*second)), 2, yes(1, 10*second)).in(second),
			settle(7, 1, yes(2, 10*second)),
			take(rule.SlidingLog(rule.Per(5, 10*second)), 2, yes(3, 10*second)).reserve(0).in(10 * second),
			settle(10, 4, yes(1, 10*second)),
		},
	},
	{
		name: "reserve in a calendar window", why: "a store computes the calendar's window anew where it has changed",
		steps: []step{
			take(calendar(rule.PerMinute(5), "UTC"), 3, yes(2, second)).reserve(0).in(59 * second),
			take(calendar(rule.PerMinute(5), "UTC"), 2, yes(3, 59*second)).reserve(0).in(2 * second),
			settle(1, 0, yes(3, 59*second)),
			settle(2, 0, yes(5, 0)),
		},
	},
	{
		name: "reserve behind the clock", why: "slots are as far away as before when the clock was set back",
		steps: []step{
			take(roomy, 10, yes(0, 10*second)).reserve(0),
			take(roomy, 2, yes(0, 13*second).after(2*second)).reserve(time.Hour).in(-second),
			take(roomy, 1, no(0, 3*second, 13*second).after(3*second)).reserve(second),
			settle(2, 0, yes(0, 11*second)),
			settle(1, 9, yes(1, 10*second)),
		},
	},
	{
		name: "reserve after the clock was set back far", why: "a denied reserve moves the state to now, as a denied take does",
		steps: []step{
			take(roomy, 10, yes(0, 10*second)).reserve(0),
			take(roomy, 2, no(0, second, 10*second).after(2*second)).reserve(second).in(-time.Hour),
			take(roomy, 1, yes(0, 10*second)).in(second),
			settle(1, 10, yes(0, 10*second)),
		},
	},
	{
		name: "the rate rises while callers wait", why: "their slots stay, and the new rate comes after the last of them: their units would refill before they pass",
		steps: []step{
			take(roomy, 10, yes(0, 10*second)).reserve(0),
			take(roomy, 4, yes(0, 14*second).after(4*second)).reserve(time.Hour),
			take(quick, 2, no(0, 5*second, 9*second)).reserve(time.Hour),
			take(quick, 1, no(0, 4500*ms, 9*second)),
			take(quick, 1, no(0, 500*ms, 5*second)).in(4 * second),
			take(quick, 1, yes(0, 5*second)).in(500 * ms),
			settle(2, 0, yes(5, 2500*ms)).in(500 * ms),
		},
	},
	{
		name: "a burst waits while the rate rises", why: "200 of 100 would pass at its slot",
		steps: []step{
			take(hundred, 100, yes(0, 100*second)).reserve(0),
			take(hundred, 100, yes(0, 200*second).after(100*second)).reserve(time.Hour),
			take(hundredFast, 100, no(0, 100*second+100*ms, 100*second+100*ms)),
			take(hundredFast, 1, no(0, ms, 100*ms)).in(100 * second),
			take(hundredFast, 100, no(99, ms, ms)).in(99 * ms),
			take(hundredFast, 100, yes(0, 100*ms)).in(ms),
		},
	},
	{
		name: "a larger burst at a faster rate while callers wait", why: "its room is there at once, but nothing comes back at another rate before the last slot",
		steps: []step{
			take(roomy, 10, yes(0, 10*second)).reserve(0),
			take(roomy, 4, yes(0, 14*second).after(4*second)).reserve(time.Hour),
			take(wide, 5, yes(1, 4*second+1500*ms)).reserve(0),
			take(roomy, 1, no(0, 4600*ms, 5500*ms)),
			settle(3, 1, yes(1, 4*second+1500*ms)),
			take(wide, 5, yes(0, 2*second)).in(4 * second),
			take(roomy, 1, no(0, 100*ms, second)).in(time.Second),
		},
	},
	{
		name: "a slower version after the last slot", why: "the faster rate that charged before the slot is in force from then on, for the slower version too",
		steps: []step{
			take(roomy, 10, yes(0, 10*second)).reserve(0),
			take(roomy, 4, yes(0, 14*second).after(4*second)).reserve(time.Hour),
			take(wide, 5, yes(1, 4*second+1500*ms)),
			take(roomy, 1, yes(4, 6*second)).in(5 * second),
		},
	},
	{
		name: "the rate falls while callers wait", why: "a slower version does not end the rate before the last slot, which was computed with it",
		steps: []step{
			take(quick, 10, yes(0, 5*second)).reserve(0),
			take(quick, 4, yes(0, 7*second).after(2*second)).reserve(time.Hour),
			take(roomyWide, 3, yes(3, 8500*ms)),
			take(quick, 1, no(0, 4*second, 8500*ms)),
			take(roomyWide, 1, yes(6, 14*second)).in(2 * second),
		},
	},
	{
		name: "the clock goes back while callers wait", why: "slots are as far away as before",
		steps: []step{
			take(roomy, 10, yes(0, 10*second)).reserve(0),
			take(roomy, 4, yes(0, 14*second).after(4*second)).reserve(time.Hour),
			take(quick, 1, no(0, 5500*ms, 10*second)).in(-second),
			take(wide, 0, yes(6, 5*second)).in(-time.Hour),
			take(wide, 1, yes(5, 5100*ms)),
			take(roomy, 1, no(0, 4200*ms, 5100*ms)),
		},
	},
	{
		// Regression: bug 86.
		name: "commit a part before the slot", why: "the caller uses the part at its slot: 150 of 100 would pass there if a cancel gave its room back too",
		steps: []step{
			take(hundred, 100, yes(0, 100*second)).reserve(0),
			take(hundred, 100, yes(0, 200*second).after(100*second)).reserve(time.Hour),
			settle(2, 50, yes(0, 150*second)),
			settle(1, 0, yes(0, 150*second)),
			take(hundred, 100, no(50, 50*second, 50*second)).in(100 * second),
		},
	},
	{
		name: "commit a part in a pacer before the slot", why: "the caller uses the part at its slot: 15 of 10 would pass there if a cancel gave its room back too",
		steps: []step{
			take(pacedTen, 10, yes(0, second)),
			take(pacedTen, 10, yes(0, 2*second).after(second)).reserve(time.Hour),
			take(pacedTen, 10, yes(0, 3*second).after(2*second)).reserve(time.Hour),
			settle(3, 5, yes(0, 2500*ms)),
			settle(2, 0, yes(0, 2500*ms)),
		},
	},
	{
		name: "a bucket that became faster", why: "a reservation gives back no more than is still missing of it at the faster rate",
		steps: []step{
			take(roomy, 10, yes(0, 10*second)).reserve(0),
			take(quick, 1, yes(1, 4500*ms)).in(second),
			settle(1, 0, yes(9, 500*ms)),
		},
	},
	{
		name: "a bucket that became faster long ago", why: "all of the charge may have refilled since",
		steps: []step{
			take(roomy, 10, yes(0, 10*second)).reserve(0),
			take(quick, 9, yes(0, 8500*ms).after(3500*ms)).reserve(time.Hour).in(second),
			settle(1, 0, yes(3, 3500*ms)).in(5 * second),
		},
	},
	{
		name: "cancel one that was used while others wait", why: "with 3 s to refill, 2 units at the slot and 9 more would pass at 2 s",
		steps: []step{
			take(roomy, 10, yes(0, 10*second)).reserve(0),
			take(roomy, 2, yes(0, 12*second).after(2*second)).reserve(time.Hour),
			settle(1, 0, yes(6, 3500*ms)).in(500 * ms),
		},
	},
	{
		name: "the next request pays", why: "Guava's own sequence: a request passes once no cost is outstanding, and its own delays the next one",
		steps: []step{
			take(guava, 1, yes(0, second)),
			take(guava, 1, yes(0, 2*second)).reserve(time.Hour),
			take(guava, 10, yes(0, 12*second).after(second)).reserve(time.Hour),
			take(guava, 1, yes(0, 13*second).after(11*second)).reserve(time.Hour),
			take(guava, 1, no(0, 12*second, 13*second)),
			take(guava, 10, no(0, time.Second, 2*second)).in(11 * second),
			take(guava, 10, yes(0, 11*second)).in(time.Second),
			take(guava, 1<<40, no(0, never, 11*second)),
			take(guava, 100, want{remaining: 0, retry: 10 * second, reset: 11 * second}).as(engine.OpAtMost),
			take(guava, 100, want{allowed: true, reset: 101 * second, granted: 100}).as(engine.OpAtMost).in(10 * second),
		},
	},
	{
		name: "the next request pays in a pacer", why: "its delay is what is outstanding, within the pacer's own bounds",
		steps: []step{
			take(guavaPacer, 5, yes(0, 5*second)),
			take(guavaPacer, 3, yes(0, 8*second).after(4*second)),
			take(guavaPacer, 1, no(0, 2*second, 8*second)),
			take(guavaPacer, 1, yes(0, 7*second).after(5*second)).in(2 * second),
		},
	},
	{
		name: "settle where the next request pays", why: "what was used beyond a reservation is debt too",
		steps: []step{
			take(guava, 10, yes(0, 10*second)).reserve(0),
			settle(1, 15, yes(0, 15*second)),
			take(guava, 5, yes(0, 20*second).after(14*second)).reserve(time.Hour),
			settle(3, 2, yes(0, 17*second)),
		},
	},
	{
		name: "reserve of several limits", why: "all or nothing; the caller waits for the last, and beside a window no bucket delays",
		steps: []step{
			each(yes(0, 100*ms), spacedA, roomy).reserve(0),
			each(yes(0, 200*ms).after(100*ms), spacedA, roomy).reserve(time.Hour),
			each(no(0, 100*ms, 200*ms).after(200*ms), spacedA, roomy).reserve(100 * ms),
			settle(2, 0, yes(0, 100*ms)),
			each(no(0, 100*ms, 100*ms), spacedA, minutes).reserve(time.Hour),
			each(no(0, 100*ms, 100*ms), spacedA, denials).reserve(time.Hour),
			take(denials, 0, yes(2, time.Minute)),
			take(roomy, 0, yes(9, second)),
		},
	},
	{
		name: "reserve of several limits with a pacer", why: "a window is charged when the caller reserves, also if it waits for a pacer",
		steps: []step{
			each(yes(0, 100*ms), paced, minutes).reserve(0),
			each(yes(0, 200*ms).after(100*ms), paced, minutes).reserve(time.Hour),
			settle(2, 0, yes(0, 100*ms)),
			take(minutes, 0, yes(9, time.Minute)),
		},
	},
})
