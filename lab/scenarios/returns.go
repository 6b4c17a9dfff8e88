package scenarios

import (
	"time"

	"github.com/headgate/headgate/internal/rule"
)

var (
	forty  = rule.TokenBucket(rule.PerSecond(20), rule.Burst(40))
	slow40 = rule.TokenBucket(rule.PerSecond(1), rule.Burst(40))
	tight  = rule.TokenBucket(rule.PerSecond(1), rule.Burst(2))
	shared = rule.FairShare(rule.PerSecond(1), rule.Burst(40))
)

// Cases with several open reservations on one bucket.
var _ = register([]scenario{
	{
		name: "several open reservations", why: "20 units were given back, so that all have refilled after a second: 60 would pass at once",
		steps: []step{
			take(forty, 20, yes(20, second)).reserve(0),
			take(forty, 20, yes(0, 2*second)).reserve(0),
			settle(1, 0, yes(20, second)),
			take(forty, 40, yes(0, 2*second)).in(second),
			settle(2, 0, yes(0, 2*second)),
		},
	},
	{
		name: "several open reservations, half refilled", why: "of the second one 10 units are missing, because the first one's did not need to refill",
		steps: []step{
			take(forty, 20, yes(20, second)).reserve(0),
			take(forty, 20, yes(0, 2*second)).reserve(0),
			settle(1, 0, yes(20, second)),
			take(forty, 30, yes(0, 2*second)).in(500 * ms),
			settle(2, 0, yes(10, 1500*ms)),
		},
	},
	{
		name: "several open reservations, the last one first", why: "an earlier one does not refill sooner",
		steps: []step{
			take(forty, 10, yes(30, 500*ms)).reserve(0),
			take(forty, 10, yes(20, second)).reserve(0),
			take(forty, 10, yes(10, 1500*ms)).reserve(0),
			settle(2, 0, yes(20, second)),
			settle(1, 0, yes(30, 500*ms)),
			settle(3, 0, yes(40, 0)),
		},
	},
	{
		name: "a reservation after others came back", why: "its end counts from the units that were missing when it was charged",
		steps: []step{
			take(forty, 20, yes(20, second)).reserve(0),
			take(forty, 20, yes(0, 2*second)).reserve(0),
			settle(1, 0, yes(20, second)),
			take(forty, 10, yes(20, second)).reserve(0).in(500 * ms),
			take(forty, 10, yes(10, 1500*ms)),
			settle(4, 0, yes(20, second)),
		},
	},
	{
		name: "a reservation in a bucket that became faster", why: "earlier returns are counted in the new rate's parts",
		steps: []step{
			take(roomy, 5, yes(5, 5*second)).reserve(0),
			take(roomy, 5, yes(0, 10*second)).reserve(0),
			settle(1, 0, yes(5, 5*second)).in(1500 * ms),
			take(quick, 1, yes(4, 3*second)),
			settle(2, 0, yes(7, 1250*ms)),
		},
	},
	{
		name: "two cancelled while another waits", why: "the last one begins after a second with a unit, and only one unit may pass before it",
		steps: []step{
			take(tight, 1, yes(1, second)),
			take(tight, 1, yes(0, 2*second)).reserve(0),
			take(tight, 1, yes(0, 3*second).after(second)).reserve(time.Hour),
			take(tight, 1, yes(0, 4*second).after(2*second)).reserve(time.Hour),
			settle(3, 0, yes(0, 3*second)),
			settle(2, 0, yes(0, 3*second)),
		},
	},
	{
		name: "cancelled while another waits for a bucket with debt", why: "it waits until the bucket is out of debt",
		steps: []step{
			take(indebt, 10, yes(0, 10*second)).reserve(0),
			take(indebt, 3, yes(0, 13*second).after(time.Microsecond)).reserve(time.Hour),
			settle(1, 0, yes(6, 3*second+time.Microsecond)),
		},
	},
	{
		name: "cancelled under a smaller burst after another one passed", why: "by this burst, the other one would wait until 1 µs after the debt",
		steps: []step{
			take(indebt9, 10, yes(0, 10*second)).reserve(0),
			take(indebt, 1, yes(0, 10500*ms)).in(500 * ms),
			settle(1, 0, yes(7, second+time.Microsecond)).in(500 * ms),
		},
	},
	{
		name: "cancelled while another waits for the room of a debt", why: "the burst and the debt have room for its units",
		steps: []step{
			take(indebt, 10, yes(0, 10*second)).reserve(0),
			take(indebt, 6, yes(0, 16*second).after(second)).reserve(time.Hour),
			settle(1, 0, yes(3, 7*second)),
		},
	},
	{
		name: "cancelled while the next request waits to pay", why: "no request overtakes it",
		steps: []step{
			take(guava, 1, yes(0, second)).reserve(0),
			take(guava, 1, yes(0, 2*second)).reserve(0),
			take(guava, 1, yes(0, 3*second).after(second)).reserve(time.Hour),
			settle(2, 0, yes(0, 3*second)),
		},
	},
	{
		name: "several open reservations of a fair share", why: "all keys have one bucket",
		steps: []step{
			take(shared, 10, yes(10, 10*second)).reserve(0),
			take(shared, 10, yes(0, 20*second)).reserve(0),
			settle(1, 0, yes(10, 10*second)),
			take(shared, 10, yes(10, 10*second)).in(10 * second),
			settle(2, 0, yes(10, 10*second)),
		},
	},
	{name: "many open reservations", why: "20 units came back, and units that refilled in the meantime do not", steps: manyReturns()},
})

// manyReturns returns steps that reserve 20 units one by one, and then ten units together. They cancel the single
// reservations, the latest first, take 30 units, and cancel the ten. A record cannot hold so many returns separately.
func manyReturns() (steps []step) {
	now, missing := time.Duration(0), int64(0)
	at := func(after time.Duration) want {
		now += after
		w := yes(40-missing, time.Duration(missing)*second-now)
		return w
	}
	for i := range 20 {
		missing++
		wait := time.Duration(min(i, 1)) * ms
		steps = append(steps, take(slow40, 1, at(wait)).reserve(0).in(wait))
	}
	missing += 10
	steps = append(steps, take(slow40, 10, at(ms)).reserve(0).in(ms))
	for i := 20; i > 1; i-- {
		missing--
		wait := ms
		if i == 19 || i == 2 {
			wait = 3 * ms
		}
		steps = append(steps, settle(i, 0, at(wait)).in(wait))
	}
	return append(steps,
		settle(1, 0, yes(30, 10*second)).in(ms), // the refilled units belong to this reservation
		take(slow40, 30, yes(0, 40*second)),
		settle(21, 0, yes(10, 30*second)).in(5*second))
}
