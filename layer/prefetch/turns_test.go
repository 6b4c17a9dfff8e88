package prefetch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/memstore"
)

// unclosed is a store that outlives the stores that wrap it.
type unclosed struct{ engine.Store }

func (unclosed) Close() error { return nil }

// Regression: bug 50. Two processes that alternately prefetch and return units never hold more than their decisions state,
// however long the bucket has been refilling.
func TestProcessesInTurnsStayWithinTheBound(t *testing.T) {
	for joins := 500; joins < 620; joins += 20 { // the second process joins at different phases of the first one
		turns(t, joins)
	}
}

func turns(t *testing.T, joins int) {
	const rate, burst = 1000, 100_000
	// In a synctest bubble, the race detector may end the process after many sleeps: golang/go issue 78156.
	ticks := raced.Size(10_000, 2_500)
	limit := rule.TokenBucket(rule.PerSecond(rate), rule.Burst(burst))
	synctest.Test(t, func(t *testing.T) {
		memory, err := memstore.New(memstore.Config{Clock: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		var limiters []*headgate.Limiter
		for range 2 {
			store, err := prefetch.New(unclosed{memory}, join(t, memory), prefetch.Config{Limits: []engine.Limit{limit}, Life: time.Second, MaxUnits: burst})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			limiters = append(limiters, headgate.New(headgate.WithStore(store)))
		}
		for tick := range ticks {
			time.Sleep(10 * time.Millisecond)
			for i, l := range limiters {
				if i == 1 && tick < joins {
					continue
				}
				if _, err := l.PolicyOf("", limit).Allow(context.Background(), "k"); err != nil {
					t.Fatal(err)
				}
			}
		}
		passed, stated := drain(t, limiters, limit)
		if passed > burst+stated || stated == 0 || passed < burst-stated {
			t.Errorf("joined at %d: %d passed at one instant; want at most %d and %d more", joins, passed, burst, stated)
		}
	})
}

// drain takes all units. It returns their number, and the largest overshoot that a decision stated.
func drain(t *testing.T, limiters []*headgate.Limiter, limit engine.Limit) (passed, stated int64) {
	t.Helper()
	for _, l := range limiters {
		for {
			d, err := l.PolicyOf("", limit).Allow(context.Background(), "k")
			if err != nil {
				t.Fatal(err)
			}
			if stated = max(stated, d.Promise.OvershootMax); !d.Allowed {
				break
			}
			passed++
		}
	}
	return passed, stated
}
