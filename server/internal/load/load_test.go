package load

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

var fivePerSecond = rule.SlidingLog(rule.PerSecond(5))

// stub is a target that gets its answers from a function.
type stub func() (bool, error)

func (s stub) open(context.Context, *Config) (client, error) { return s, nil }
func (s stub) storeTime() bool                               { return false }
func (s stub) Close() error                                  { return nil }
func (s stub) close()                                        {}

func (s stub) take(context.Context, string) (bool, time.Time, error) {
	allowed, err := s()
	return allowed, time.Time{}, err
}

// runOn runs the load generator on a target.
func runOn(t *testing.T, target Target, c Config) *Report {
	t.Helper()
	c.Timeout = time.Second
	r, err := Run(context.Background(), target, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestExactStoreHasNoExcess checks that at a fixed rate all due requests are sent, and that an exact store decides
// like the steps.
func TestExactStoreHasNoExcess(t *testing.T) {
	for i, limit := range []engine.Limit{fivePerSecond, fivePerSecond, rule.FairShare(rule.PerSecond(300), rule.Burst(100))} {
		synctest.Test(t, func(t *testing.T) {
			memory, err := memstore.New(memstore.Config{Clock: time.Now})
			if err != nil {
				t.Fatal(err)
			}
			target := storeTarget{limiter: core.New(core.Config{Store: memory})}
			r := runOn(t, target, Config{Limit: limit, Keys: 50, Zipf: i == 1, Callers: 7, Rate: 1000, Duration: 3 * time.Second})
			if n := r.Decisions(); n < 2995 || n > 3007 || r.Failed != 0 || r.Latency.TotalCount() != n {
				t.Errorf("%d decisions, %d failed, %d measured; want 3000", n, r.Failed, r.Latency.TotalCount())
			}
			if a := r.Accuracy; !a.Known || a.Over != 0 || a.Under != 0 || a.Allowed != r.Allowed || a.Exact != r.Allowed || !a.StoreTime || a.Skipped != 0 || r.Allowed == 0 || r.Denied == 0 {
				t.Errorf("%+v of %d allowed, %d denied", a, r.Allowed, r.Denied)
			}
		})
	}
}

// TestOverAndUnder checks that the report counts units allowed beyond the limit and units denied within it, and
// counts neither if there is no limit.
func TestOverAndUnder(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			c := Config{Limit: fivePerSecond, Keys: 1, Callers: 1, Rate: 100, Duration: 995 * time.Millisecond}
			r := runOn(t, stub(func() (bool, error) { return allowed, nil }), c)
			a := r.Accuracy
			if a.Exact != 5 || allowed && (a.Over != 95 || a.Under != 0) || !allowed && (a.Over != 0 || a.Under != 5) {
				t.Errorf("always %v: %+v", allowed, a)
			}
			c.Limit = engine.Limit{}
			if r := runOn(t, stub(func() (bool, error) { return allowed, nil }), c); r.Accuracy.Known {
				t.Errorf("compared without a limit: %+v", r.Accuracy)
			}
		})
	}
}

// TestStallCountsAsLatency checks that the latency of requests that became due while the target stalled counts from
// the time when they were due.
func TestStallCountsAsLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		r := runOn(t, stub(func() (bool, error) {
			if first {
				first = false
				time.Sleep(500 * time.Millisecond)
			}
			return true, nil
		}), Config{Limit: fivePerSecond, Keys: 1, Callers: 1, Rate: 100, Duration: time.Second})
		if p50, most := r.Latency.ValueAtQuantile(50), r.Latency.Max(); p50 > 10_000 || most < 499_000 {
			t.Errorf("p50 %d µs, max %d µs", p50, most)
		}
		if p75 := r.Latency.ValueAtQuantile(75); p75 < 200_000 {
			t.Errorf("p75 %d µs: half of the requests waited, a quarter of a second on average", p75)
		}
	})
}

// TestFailuresAreCounted checks that failures are counted but not compared, and that the report includes one of the
// errors.
func TestFailuresAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("down")
		r := runOn(t, stub(func() (bool, error) { return false, down }), Config{Limit: fivePerSecond, Keys: 1, Callers: 3, Rate: 90, Duration: time.Second})
		if r.Failed < 89 || r.Decisions() != 0 || !errors.Is(r.Error, down) || r.Accuracy.Exact != 0 {
			t.Errorf("%+v", r)
		}
	})
}

func TestCheckNamesTheField(t *testing.T) {
	good := Config{Keys: 1, Callers: 1, Duration: time.Second, Timeout: time.Second}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for field, change := range map[string]func(*Config){
		"keys": func(c *Config) { c.Keys = 0 }, "callers": func(c *Config) { c.Callers = MaxCallers + 1 }, "rate": func(c *Config) { c.Rate = -1 },
		"duration": func(c *Config) { c.Duration = 2 * time.Hour }, "timeout": func(c *Config) { c.Timeout = 0 },
	} {
		c := good
		change(&c)
		var bad *engine.InputError
		if err := c.Check(); !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%+v: %v, want an InputError about %s", c, err, field)
		}
	}
}
