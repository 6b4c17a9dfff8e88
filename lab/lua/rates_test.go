package lua

import (
	"context"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/redisstore"
)

// TestRates checks rates that other limiters do not enforce exactly. Starting with no units left, exactly the rate's
// units must pass in a whole period on either store, and each wait must be exact to the µs.
func TestRates(t *testing.T) {
	clock := headgatetest.NewClock()
	memory, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	s := redistest.Standalone(t, redistest.Redis)
	stores := map[string]engine.Store{
		"memory": memory, "redis": testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Clock: clock.Now}),
	}
	for name, store := range stores {
		for _, r := range []struct {
			rate  engine.Rate
			burst int64
			polls int // requests per period; each takes all units that pass
		}{
			{rule.PerSecond(6_000), 12, 1_000},
			{rule.PerSecond(30_000), 40, 1_000},
			{rule.PerDay(1_234_567), 300, 5_000},
			{rule.PerSecond(3), 2, 1_000},
			{rule.PerSecond(600_000_000), 1_000_000, 1_000},
		} {
			limit := rule.TokenBucket(r.rate, rule.Burst(r.burst))
			rateIsExact(t, name, store, clock, limit, r.rate, r.polls)
		}
		for _, rate := range []engine.Rate{rule.PerSecond(6_000), rule.PerSecond(30_000), rule.PerDay(1_234_567)} {
			waitsAreExact(t, name, store, clock, rule.TokenBucket(rate, rule.Burst(1)))
		}
	}
}

// rateKey returns a different key for each limit, because limits with the same name share a counter.
func rateKey(limit engine.Limit) string {
	if limit.Name() != engine.DefaultName {
		return limit.Name()
	}
	return limit.String()
}

func opOn(t *testing.T, store engine.Store, kind engine.Kind, limit engine.Limit, cost int64) *engine.Answer {
	t.Helper()
	results := make([]engine.Answer, 1)
	store.Do(context.Background(), []engine.Op{{Kind: kind, Space: "rates", Key: rateKey(limit), Charges: []engine.Charge{{Limit: limit, Cost: cost}}}}, results)
	if results[0].Err != nil {
		t.Fatal(results[0].Err)
	}
	return &results[0]
}

func rateIsExact(t *testing.T, name string, store engine.Store, clock *headgatetest.Clock, limit engine.Limit, rate engine.Rate, polls int) {
	t.Helper()
	opOn(t, store, engine.OpAllow, limit, limit.Capacity())
	passed, start := int64(0), clock.Now()
	for i := range polls {
		clock.Set(start.Add(rate.Period * time.Duration(i+1) / time.Duration(polls)).Truncate(time.Microsecond))
		passed += opOn(t, store, engine.OpAtMost, limit, limit.Capacity()).Granted
	}
	if passed != rate.Count {
		t.Errorf("%s: %s passed %d in its period", name, limit, passed)
	}
}

func waitsAreExact(t *testing.T, name string, store engine.Store, clock *headgatetest.Clock, limit engine.Limit) {
	t.Helper()
	opOn(t, store, engine.OpAllow, limit, 1)
	for range 200 {
		wait := opOn(t, store, engine.OpAllow, limit, 1).Binds().RetryAfter
		clock.Advance(wait - time.Microsecond)
		early := opOn(t, store, engine.OpAllow, limit, 1)
		clock.Advance(time.Microsecond)
		if early.Allowed || !opOn(t, store, engine.OpAllow, limit, 1).Allowed {
			t.Fatalf("%s: %s: the wait of %s is not exact", name, limit, wait)
		}
	}
}
