package faults

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/open"
)

// A caller of Wait that a share denies repeats its request, and passes soon after the store is back. It used to fail at
// once, as if its deadline were too early, even without one, if the limit reserves slots (regression: bug 243).
func TestWaitThroughAnOutage(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]headgate.Limit{
		"bucket": headgate.TokenBucket{Rate: headgate.PerHour(40), Burst: 40}, // a share of a quarter refills in 6 minutes
		"pacer":  headgate.Pacer{Rate: headgate.PerSecond(4), MaxWait: time.Minute},
		"window": headgate.FixedWindow{Rate: headgate.PerHour(40)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Standalone(t, redistest.Redis)
			away := make(chan bool, 2)
			store, err := open.URL(t.Context(), "redis://"+s.Addr(), open.Options{
				Fallback: &fallback.Config{Expect: 4, OnOutage: func(began bool, _ error) { away <- began }},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			limiter := headgate.New(headgate.WithStore(store))
			defer limiter.Close()
			policy := limiter.Policy("p", limit)
			s.Pause()
			if !<-away {
				t.Fatal("the store is back before it was away")
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var callers sync.WaitGroup
			shares := make(chan bool, 15) // of them a share has 10 at most
			for range cap(shares) {
				callers.Go(func() {
					d, err := policy.Wait(ctx, "k")
					if err != nil || !d.Allowed {
						t.Errorf("%v, %v", d, err)
					}
					shares <- d.Promise.Mode == engine.Fallback
				})
			}
			if !<-shares {
				t.Error("no share has decided")
			}
			s.Resume()
			callers.Wait()
		})
	}
}
