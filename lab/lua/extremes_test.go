package lua

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/storetest"
)

// TestExtremes checks that both stores give the same answers for the largest parameters that a limit accepts, and for
// costs above any limit.
func TestExtremes(t *testing.T) {
	const most, years = int64(algo.MaxUnits), 36525 * 24 * time.Hour
	limits := []engine.Limit{
		rule.TokenBucket(rule.Per(1<<32, time.Millisecond+time.Microsecond), rule.Burst(1<<32)),
		rule.TokenBucket(rule.Per(1<<32-1, time.Millisecond+time.Microsecond), rule.Burst(1<<32)),
		rule.TokenBucket(rule.Per(most, time.Millisecond), rule.NextPays()),
		rule.FixedWindow(rule.Per(1<<32, years)),
		rule.TokenBucket(rule.Per(most, time.Millisecond), rule.Burst(most), rule.AllowDebt(most)),
		rule.TokenBucket(rule.Per(most, years), rule.Burst(most)),
		rule.TokenBucket(rule.Per(1, years), rule.Burst(1)),
		rule.TokenBucket(rule.Per(most-4, years-time.Microsecond), rule.Burst(most-10)),
		rule.Pacer(rule.Per(most, time.Millisecond), rule.Burst(most), rule.MaxWait(years-2*time.Millisecond)),
		rule.Pacer(rule.Per(most, time.Millisecond), rule.Burst(1), rule.MaxQueue(most), rule.MaxWait(years/2)),
		rule.Pacer(rule.Per(most, years/2), rule.Burst(1), rule.MaxQueue(most)),
		rule.WarmUp(rule.Per(most, time.Millisecond), time.Millisecond, rule.Burst(most)),
		rule.WarmUp(rule.Per(most, time.Millisecond), 1999*time.Microsecond, rule.NextPays()),
		rule.WarmUp(rule.Per(most, years/2), years-time.Microsecond, rule.Burst(1)),
		rule.WarmUp(rule.Per(2, years/2), years/2),
		rule.FairShare(rule.Per(most, time.Millisecond), rule.Burst(1<<36), rule.Weight(100)),
		rule.FairShare(rule.Per(10, years-time.Microsecond), rule.Burst(10)),
		rule.FairShare(rule.Per(1<<36, years), rule.Burst(1<<36)),
		rule.FairPacer(rule.Per(1<<36, years), rule.Burst(1), rule.MaxQueue(1<<36-1)),
		rule.FairPacer(rule.Per(most, time.Millisecond), rule.Burst(1<<35), rule.MaxQueue(1<<35), rule.Weight(100)),
		rule.AdaptiveRate(rule.Per(100_000_000, time.Millisecond), 1, 100_000_000, rule.Burst(int64(years/time.Millisecond))),
		rule.AdaptiveRate(rule.Per(1, time.Hour), 1, 100_000_000, rule.Burst(int64(years/time.Hour))),
		rule.FixedWindow(rule.Per(most, years)),
		rule.FixedWindow(rule.Per(most, time.Millisecond), rule.Align("clock"), rule.CountDenied()),
		rule.SlidingWindow(rule.Per(most, years), rule.Segments(1000), rule.Weighted()),
		rule.SlidingWindow(rule.Per(most, years), rule.Segments(1), rule.Weighted(), rule.CountDenied()),
		rule.SlidingWindow(rule.Per(most, time.Millisecond), rule.Segments(1000), rule.Strict()),
		rule.SlidingLog(rule.Per(100_000, years), rule.CountDenied()),
	}
	for _, a := range storetest.Missing(limits) {
		limits = append(limits, storetest.Plain(a, rule.Per(most, time.Millisecond), most), storetest.Plain(a, rule.Per(1, years), 1),
			storetest.Plain(a, rule.Per(most, years), most))
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
				// On Redis, a queue holds at most 2^52−1 units: see docs/reference/bounds.md.
				op.Charges[0].Cost = min(op.Charges[0].Cost, most/64)
			}
			a, b := make([]engine.Answer, 1), make([]engine.Answer, 1)
			redis.Do(context.Background(), []engine.Op{op}, a)
			memory.Do(context.Background(), []engine.Op{op}, b)
			x, y := a[0], b[0]
			if a[0].Err != nil || b[0].Err != nil || x.Allowed != y.Allowed || x.Granted != y.Granted || x.Binds().Remaining != y.Binds().Remaining ||
				x.Binds().RetryAfter != y.Binds().RetryAfter || x.Binds().ResetAfter != y.Binds().ResetAfter || x.Delay != y.Delay || x.Binds().Limit != y.Binds().Limit {
				t.Errorf("%s, step %d, %s of %d:\n redis %+v %v\nmemory %+v %v", limit, i, op.Kind, op.Charges[0].Cost, x, a[0].Err, y, b[0].Err)
				break
			}
		}
		clock.Set(headgatetest.NewClock().Now())
	}
}
