package lua

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/conform/redistest"
	"github.com/headgate/headgate/conform/testbed"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/storetest"
)

// For the largest numbers that a limit can have, and for costs above any limit, both stores give the same answers.
func TestExtremes(t *testing.T) {
	const most, years = int64(algo.MaxUnits), 36525 * 24 * time.Hour
	limits := []headgate.Limit{
		headgate.TokenBucket(headgate.Per(1<<32, time.Millisecond+time.Microsecond), headgate.Burst(1<<32)),
		headgate.TokenBucket(headgate.Per(1<<32-1, time.Millisecond+time.Microsecond), headgate.Burst(1<<32)),
		headgate.TokenBucket(headgate.Per(most, time.Millisecond), headgate.NextPays()),
		headgate.FixedWindow(headgate.Per(1<<32, years)),
		headgate.TokenBucket(headgate.Per(most, time.Millisecond), headgate.Burst(most), headgate.AllowDebt(most)),
		headgate.TokenBucket(headgate.Per(most, years), headgate.Burst(most)),
		headgate.TokenBucket(headgate.Per(1, years), headgate.Burst(1)),
		headgate.TokenBucket(headgate.Per(most-4, years-time.Microsecond), headgate.Burst(most-10)),
		headgate.Pacer(headgate.Per(most, time.Millisecond), headgate.Burst(most), headgate.MaxWait(years-2*time.Millisecond)),
		headgate.Pacer(headgate.Per(most, time.Millisecond), headgate.Burst(1), headgate.MaxQueue(most), headgate.MaxWait(years/2)),
		headgate.Pacer(headgate.Per(most, years/2), headgate.Burst(1), headgate.MaxQueue(most)),
		headgate.WarmUp(headgate.Per(most, time.Millisecond), time.Millisecond, headgate.Burst(most)),
		headgate.WarmUp(headgate.Per(most, time.Millisecond), 1999*time.Microsecond, headgate.NextPays()),
		headgate.WarmUp(headgate.Per(most, years/2), years-time.Microsecond, headgate.Burst(1)),
		headgate.WarmUp(headgate.Per(2, years/2), years/2),
		headgate.FairShare(headgate.Per(most, time.Millisecond), headgate.Burst(1<<36), headgate.Weight(100)),
		headgate.FairShare(headgate.Per(10, years-time.Microsecond), headgate.Burst(10)),
		headgate.FairShare(headgate.Per(1<<36, years), headgate.Burst(1<<36)),
		headgate.FixedWindow(headgate.Per(most, years)),
		headgate.FixedWindow(headgate.Per(most, time.Millisecond), headgate.Align("clock"), headgate.CountDenied()),
		headgate.SlidingWindow(headgate.Per(most, years), headgate.Segments(1000)),
		headgate.SlidingWindow(headgate.Per(most, years), headgate.Segments(1), headgate.CountDenied()),
		headgate.SlidingWindow(headgate.Per(most, time.Millisecond), headgate.Segments(1000), headgate.Strict()),
		headgate.SlidingLog(headgate.Per(100_000, years), headgate.CountDenied()),
	}
	for _, a := range storetest.Missing(limits) {
		limits = append(limits, storetest.Plain(a, headgate.Per(most, time.Millisecond), most), storetest.Plain(a, headgate.Per(1, years), 1),
			storetest.Plain(a, headgate.Per(most, years), most))
	}
	clock := headgatetest.NewClock()
	memory, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	s := redistest.Standalone(t, redistest.Redis)
	redis := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Clock: clock.Now})
	kinds := []engine.Kind{engine.OpAllow, engine.OpPeek, engine.OpAtMost, engine.OpGive}
	costs := []int64{1, 2, 1<<32 - 1, 1 << 32, most / 2, most - 1, most, most + 1, 2 * most, 1 << 52, 1<<53 + 1, math.MaxInt64}
	for _, limit := range limits {
		for i := range 400 {
			clock.Advance([]time.Duration{0, time.Microsecond, time.Millisecond, time.Hour, 24 * 365 * time.Hour}[i*7%5] / time.Duration(1+i%3))
			op := engine.Op{Kind: kinds[i*5%7%4], Space: "x", Key: limit.String(), Charges: []engine.Charge{{Limit: limit, Cost: costs[i*13%len(costs)]}}}
			if limit.Algorithm() == algo.FixedWindow && i%7 == 3 {
				op.Kind = engine.OpCount
			}
			if limit.Algorithm() == algo.Pacer {
				// On Redis at most 2^52−1 units can be queued: see
				// docs/reference/bounds.md.
				op.Charges[0].Cost = min(op.Charges[0].Cost, most/64)
			}
			a, b := make([]engine.Result, 1), make([]engine.Result, 1)
			redis.Do(context.Background(), []engine.Op{op}, a)
			memory.Do(context.Background(), []engine.Op{op}, b)
			x, y := a[0].Outcome, b[0].Outcome
			if a[0].Err != nil || b[0].Err != nil || x.Allowed != y.Allowed || x.Granted != y.Granted || x.Remaining != y.Remaining ||
				x.RetryAfter != y.RetryAfter || x.ResetAfter != y.ResetAfter || x.Delay != y.Delay || x.Limit != y.Limit {
				t.Errorf("%s, step %d, %s of %d:\n redis %+v %v\nmemory %+v %v", limit, i, op.Kind, op.Charges[0].Cost, x, a[0].Err, y, b[0].Err)
				break
			}
		}
		clock.Set(headgatetest.NewClock().Now())
	}
}
