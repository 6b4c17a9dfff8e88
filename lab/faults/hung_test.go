package faults

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/redisstore"
)

// While a server hangs, every caller gets its answer soon after its own deadline, also while the process's other calls,
// whose deadlines are later, wait for a connection (regression: bug 163).
func TestHungServerHoldsNoCaller(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	layered, err := open.URL(t.Context(), "redis://"+s.Addr(), open.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer layered.Close()
	stores := []engine.Store{
		layered, testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{}), testbed.OpenGoredis(t, testbed.At(s.Addr(), ""), redisstore.Config{}),
	}
	const deadline, callers = 50 * time.Millisecond, 3 // two calls at a time have connections of their own
	slowest := make([][callers]time.Duration, len(stores))
	call := func(lasts time.Duration) {
		var wg sync.WaitGroup
		for i, store := range stores {
			for n := range callers {
				wg.Go(func() {
					results := make([]engine.Answer, 1)
					for began := time.Now(); time.Since(began) < lasts; {
						ctx, cancel := context.WithTimeout(t.Context(), deadline)
						called := time.Now()
						store.Do(ctx, []engine.Op{engine.Single(engine.OpAllow, "k", testbed.Hourly, 1)}, results)
						slowest[i][n] = max(slowest[i][n], time.Since(called))
						results[0] = engine.Answer{}
						cancel()
					}
				})
			}
		}
		wg.Wait()
	}
	call(100 * time.Millisecond)
	s.Pause()
	defer s.Resume()
	call(4 * time.Second)
	for i, all := range slowest {
		for _, took := range all {
			if took > 10*deadline { // before, up to 1.1 s; a busy machine needs some time
				t.Errorf("store %d: a call with a deadline of %s took %s", i, deadline, took)
			}
		}
	}
}
