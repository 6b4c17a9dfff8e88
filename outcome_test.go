package headgate_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

// Several processes share a service whose capacity halves. The rate settles at the new capacity within seconds, and
// rises again after the service has recovered. The rate changes at most once a second, regardless of the number of
// processes that report.
func TestRateFollowsOutcomes(t *testing.T) {
	for _, processes := range []int{1, 2, 32} {
		t.Run(strconv.Itoa(processes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { followOutcomes(t, processes) })
		})
	}
}

func followOutcomes(t *testing.T, processes int) {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	policies := make([]*headgate.Policy, processes)
	for i := range policies {
		l := headgate.New(headgate.WithStore(store))
		defer l.Close()
		policies[i] = l.Policy("vendor", headgate.AdaptiveRate{Rate: headgate.PerSecond(100), Min: 20, Max: 110, Burst: 10})
	}
	capacity, version := 100, int64(0)
	// second sends 200 requests in a second, and returns the number of successful ones.
	second := func() (good int) {
		for i := range 200 {
			time.Sleep(5 * time.Millisecond)
			p := policies[i%processes]
			d, err := p.Allow(t.Context(), "service")
			if err != nil {
				t.Fatal(err)
			}
			if version = d.Binding.Version; !d.Allowed {
				continue
			}
			fails := good >= capacity
			if p.Outcome("service", fails, 0); !fails {
				good++
			}
		}
		return good
	}
	for range 10 {
		second()
	}
	if rate := rateOf(t, policies[0]); rate < 94 || rate > 110 {
		t.Errorf("the rate is %d a second at a capacity of 100", rate)
	}
	capacity = 50
	before, good := version, 0
	for range 10 {
		good += second()
	}
	if steps := version - before; steps < 4 || steps > 10 {
		t.Errorf("%d steps in 10 s", steps)
	}
	if rate := rateOf(t, policies[0]); good < 475 || rate > 60 {
		t.Errorf("%d of 500 requests succeed in ten intervals after the capacity was halved; the rate is %d", good, rate)
	}
	capacity = 1000
	for range 60 {
		second()
	}
	if rate := rateOf(t, policies[0]); rate < 108 {
		t.Errorf("the rate is %d a second a minute after the recovery, want 110", rate)
	}
}

func rateOf(t *testing.T, p *headgate.Policy) int64 {
	t.Helper()
	d, err := p.Peek(t.Context(), "service", 0)
	if err != nil {
		t.Fatal(err)
	}
	return d.Binding.Rate.Count
}

// A Retry-After immediately stops all requests of the key for the stated time, but at most for MaxPause.
func TestRetryAfterPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := headgate.New()
		defer l.Close()
		p := l.Policy("vendor", headgate.AdaptiveRate{Rate: headgate.PerSecond(100), Min: 20, Max: 200, MaxPause: 10 * time.Second})
		for _, c := range []struct{ retryAfter, want time.Duration }{{3 * time.Second, 3 * time.Second}, {time.Hour, 10 * time.Second}} {
			p.Outcome("service", true, c.retryAfter)
			d, err := p.Allow(t.Context(), "service")
			if err != nil || d.Allowed || d.RetryAfter != c.want || d.Remaining != 0 {
				t.Errorf("after a Retry-After of %s: %+v, %v", c.retryAfter, d, err)
			}
			time.Sleep(c.want)
			if d, err = p.Allow(t.Context(), "service"); err != nil || !d.Allowed {
				t.Errorf("%s later: %+v, %v", c.want, d, err)
			}
		}
	})
}

// shared wraps a memory store and hides its type, so that a limiter treats it like a store shared by processes.
type shared struct{ engine.Store }

// A Retry-After reaches the other processes on the store without a further request of this process. Outcomes without a
// Retry-After wait for the next request.
func TestRetryAfterReachesOtherProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := memstore.New(memstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		limit := headgate.AdaptiveRate{Rate: headgate.PerSecond(100), Min: 20, Max: 200}
		var alone, among [2]*headgate.Policy
		for i := range alone {
			l := headgate.New(headgate.WithStore(shared{store}))
			defer l.Close()
			alone[i], among[i] = l.Policy("alone", limit), l.Policy("among", headgate.FixedWindow{Rate: headgate.PerDay(1000)}, limit)
		}
		for _, p := range [][2]*headgate.Policy{alone, among} {
			p[0].Outcome("service", true, 0)
			synctest.Wait()
			if d, err := p[1].Peek(t.Context(), "service", 1); err != nil || !d.Allowed {
				t.Errorf("before the Retry-After: %+v, %v", d, err)
			}
			for range 3 {
				p[0].Outcome("service", true, 3*time.Second)
			}
			synctest.Wait()
			if d, err := p[1].Peek(t.Context(), "service", 1); err != nil || d.Allowed || d.RetryAfter != 3*time.Second {
				t.Errorf("after the Retry-After: %+v, %v", d, err)
			}
		}
	})
}

// A shorter Retry-After does not shorten an active pause. Outcomes go to the live limit, not to its shadow.
func TestOutcomesReachTheLiveLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := headgate.New()
		defer l.Close()
		p := l.Policy("vendor", headgate.AdaptiveRate{Rate: headgate.PerSecond(100), Min: 20, Max: 200})
		p.Outcome("service", true, 10*time.Second)
		p.Outcome("service", true, time.Second)
		live := engine.Single(engine.OpAllow, "service", p.Core().Limits()[0], 1)
		live.Space = "policy:vendor"
		shadow := live
		shadow.Charges, shadow.Hints.Shadow = slices.Clone(live.Charges), true
		shadow.Charges[0].Limit = rule.AdaptiveRate(rule.PerSecond(100), 20, 300, rule.Named("candidate"))
		results := l.Core().Decide(t.Context(), shadow, live)
		if d := results[1]; !results[0].Allowed || d.Allowed || d.Binds().RetryAfter != 10*time.Second {
			t.Errorf("%+v", results)
		}
	})
}

// A process that sends false reports can change the rate by at most one step per interval, and not below the minimum.
func TestLiarMovesOneStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := headgate.New()
		defer l.Close()
		p := l.Policy("vendor", headgate.AdaptiveRate{Rate: headgate.PerSecond(800), Min: 500, Max: 900})
		least := []int64{700, 612, 535, 500, 500}
		for i := range least {
			for range 100_000 {
				p.Outcome("service", true, 0)
			}
			if _, err := p.Allow(t.Context(), "service"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if got := rateOf(t, p); got != least[i] {
				t.Errorf("second %d: the rate is %d, want %d", i, got, least[i])
			}
		}
	})
}

// The number of stored outcomes is bounded, and they are dropped after a minute. Outcomes affect only limits with an
// adaptive rate.
func TestOutcomesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := headgate.New()
		defer l.Close()
		adapting := headgate.AdaptiveRate{Rate: headgate.PerSecond(10), Min: 1, Max: 20}
		p, plain := l.Policy("p", adapting, headgate.FixedWindow{Rate: headgate.PerDay(1000)}), l.Policy("plain", headgate.TokenBucket{Rate: headgate.PerSecond(10)})
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				for j := range 1000 {
					p.Outcome(fmt.Sprint(i, j), true, time.Minute)
					plain.Outcome(fmt.Sprint(i, j), true, time.Minute)
				}
			})
		}
		all.Wait()
		paused := 0
		for i := range 4 {
			for j := range 1000 {
				d, err := p.Allow(context.Background(), fmt.Sprint(i, j))
				other, plainErr := plain.Allow(context.Background(), fmt.Sprint(i, j))
				if err != nil || plainErr != nil || !other.Allowed {
					t.Fatal(d, err, other, plainErr)
				}
				if !d.Allowed {
					paused++
				}
			}
		}
		if paused != 1024 {
			t.Errorf("%d keys have outcomes, want 1024", paused)
		}
		p.Outcome("late", true, time.Hour)
		time.Sleep(time.Minute + time.Second)
		if d, err := p.Allow(context.Background(), "late"); err != nil || !d.Allowed {
			t.Errorf("an outcome of a minute ago counts: %+v, %v", d, err)
		}
	})
}
