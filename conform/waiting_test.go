package conform

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/conform/redistest"
	"github.com/headgate/headgate/redisstore"
)

// twoProcesses returns two limiters with a connection each to one Redis, and the stores.
func twoProcesses(t *testing.T) (limiters [2]*headgate.Limiter, stores [2]*redisstore.Store) {
	t.Helper()
	d, own := standalone(t, redistest.Redis), prefix()
	for i, open := range []func(testing.TB, deployment, redisstore.Config) *redisstore.Store{openRueidis, openGoredis} {
		stores[i] = open(t, d, redisstore.Config{Prefix: own})
		limiters[i] = headgate.New(headgate.WithStore(stores[i]))
	}
	return limiters, stores
}

// A thousand callers in two processes wait for one key: the rate holds within 5 %, callers
// of a process pass in the order in which they came, and the scripts are called at most
// 1.2 times for each.
func TestWaitOnRedis(t *testing.T) {
	limiters, stores := twoProcesses(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	const callers, rate = 1000, 500
	var wg sync.WaitGroup
	var passed [2][]int
	start := time.Now()
	for process, l := range limiters {
		p := l.Policy("waiting", headgate.TokenBucket(headgate.PerSecond(rate), headgate.Burst(1)))
		var mu sync.Mutex
		wg.Go(func() {
			for i := range callers / 2 {
				begun := make(chan struct{})
				wg.Go(func() {
					close(begun)
					if _, err := p.Wait(ctx, "k"); err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					passed[process] = append(passed[process], i)
				})
				<-begun
				time.Sleep(100 * time.Microsecond)
			}
		})
	}
	wg.Wait()
	took, want := time.Since(start), callers*time.Second/rate
	if took < want*95/100 || took > want*105/100 {
		t.Errorf("%d callers took %s at %d a second", callers, took, rate)
	}
	for process := range passed {
		if !slices.IsSorted(passed[process]) && displaced(passed[process]) > 5 {
			t.Errorf("process %d: %d callers passed out of order", process, displaced(passed[process]))
		}
	}
	calls := stores[0].Stats().RoundTrips + stores[1].Stats().RoundTrips
	t.Logf("%d callers in %s, %d calls", callers, took, calls)
	if calls > callers*12/10 {
		t.Errorf("%d calls for %d callers", calls, callers)
	}
}

// displaced counts callers that passed before one that came earlier. A few do on a busy
// machine: two goroutines whose slots are 2 ms apart can wake up in either order.
func displaced(order []int) (n int) {
	for i := 1; i < len(order); i++ {
		if order[i] < order[i-1] {
			n++
		}
	}
	return n
}

// Guava's own sequence, acquire 1, 10, 1, by callers of two processes: the cost of each
// delays the next one. Then the rate doubles while a caller waits.
func TestNextPaysOnRedis(t *testing.T) {
	limiters, _ := twoProcesses(t)
	policy := func(process, rate int64) *headgate.Policy {
		return limiters[process].Policy("guava", headgate.TokenBucket(headgate.PerSecond(rate), headgate.Burst(1), headgate.NextPays()))
	}
	ctx := context.Background()
	if _, err := policy(0, 20).Allow(ctx, "k"); err != nil { // Guava begins with nothing stored
		t.Fatal(err)
	}
	start := time.Now()
	for i, s := range []struct {
		process, units int64
		at             time.Duration
	}{{0, 1, 0}, {1, 10, 50 * time.Millisecond}, {0, 1, 550 * time.Millisecond}, {1, 1, 600 * time.Millisecond}} {
		if _, err := policy(s.process, 20).WaitN(ctx, "k", s.units); err != nil {
			t.Fatal(err)
		}
		if at := time.Since(start); at < s.at-20*time.Millisecond || at > s.at+60*time.Millisecond {
			t.Errorf("request %d of %d units passed after %s, want %s", i, s.units, at, s.at)
		}
	}
	if _, err := policy(0, 20).WaitN(ctx, "k", 20); err != nil { // a second of debt
		t.Fatal(err)
	}
	start = time.Now()
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := policy(0, 20).Wait(ctx, "k"); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took < 900*time.Millisecond || took > 1200*time.Millisecond {
			t.Errorf("the caller that had its slot passed after %s", took)
		}
	})
	time.Sleep(100 * time.Millisecond)
	if _, err := policy(1, 40).Wait(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 450*time.Millisecond || took > 800*time.Millisecond {
		t.Errorf("a caller at twice the rate passed after %s, want about 600 ms", took)
	}
	wg.Wait()
}
