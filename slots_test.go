package headgate_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
)

// TestMixedCostsWithLeavers checks that a limit is used in full, and not more, although callers with different costs
// give up while they wait (regression: bug 112). Callers took over only the slots of callers with the same cost, so that
// a sixth of these units passed.
func TestMixedCostsWithLeavers(t *testing.T) {
	for name, limits := range map[string][]headgate.Limit{
		"pacer":             {headgate.Pacer{Rate: headgate.PerSecond(20), MaxQueue: 100}},
		"pacer with burst":  {headgate.Pacer{Rate: headgate.PerSecond(20), Burst: 5, MaxQueue: 100}},
		"bucket":            {headgate.TokenBucket{Rate: headgate.PerSecond(20), Burst: 5}},
		"next pays":         {headgate.TokenBucket{Rate: headgate.PerSecond(20), Burst: 5, NextPays: true}},
		"bucket and larger": {headgate.TokenBucket{Rate: headgate.PerSecond(20), Burst: 5}, headgate.TokenBucket{Rate: headgate.PerSecond(30)}},
	} {
		for store, make := range map[string]func(t *testing.T) *headgate.Limiter{
			"its own memory": func(*testing.T) *headgate.Limiter { return headgate.New() },
			"a store":        func(t *testing.T) *headgate.Limiter { l, _ := onMemory(t); return l },
		} {
			t.Run(name+"/"+store, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { mixed(t, make(t), limits) })
			})
		}
	}
}

func mixed(t *testing.T, l *headgate.Limiter, limits []headgate.Limit) {
	defer l.Close()
	p := l.Policy("api", limits...)
	random := rand.New(rand.NewPCG(1, 2))
	const span, each = time.Minute, time.Second / 20
	var mu sync.Mutex
	passed, last := int64(0), time.Duration(0)
	var callers sync.WaitGroup
	began := time.Now()
	for time.Since(began) < span {
		units, patience := 1+random.Int64N(5), time.Duration(random.Int64N(int64(4*time.Second)))
		callers.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer time.AfterFunc(patience, cancel).Stop()
			if _, err := p.WaitN(ctx, "k", units); err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			at := time.Since(began)
			if passed > int64(at/each)+5 { // the last one's units may count afterwards
				t.Errorf("%d units passed in %s", passed, at)
			}
			passed, last = passed+units, at
		})
		time.Sleep(time.Duration(random.Int64N(int64(160 * time.Millisecond))))
	}
	callers.Wait()
	if rate := float64(passed) / last.Seconds(); rate < 19.5 {
		t.Errorf("%.1f units a second passed of 20", rate)
	}
}
