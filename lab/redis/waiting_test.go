package redis

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// onBoth runs a test on Redis and on Valkey.
func onBoth(t *testing.T, test func(t *testing.T, flavor redistest.Flavor)) {
	t.Helper()
	for _, flavor := range []redistest.Flavor{redistest.Redis, redistest.Valkey} {
		t.Run(string(flavor), func(t *testing.T) { test(t, flavor) })
	}
}

// twoProcesses returns two limiters with separate connections to one server, and their stores.
func twoProcesses(t *testing.T, flavor redistest.Flavor) (limiters [2]*headgate.Limiter, stores [2]*redisstore.Store) {
	t.Helper()
	d, own := testbed.Standalone(t, flavor), testbed.Prefix()
	for i, open := range []func(testing.TB, testbed.Deployment, redisstore.Config) *redisstore.Store{testbed.OpenRueidis, testbed.OpenGoredis} {
		stores[i] = open(t, d, redisstore.Config{Prefix: own})
		limiters[i] = headgate.New(headgate.WithStore(stores[i]))
	}
	return limiters, stores
}

// slot returns the time when the store lets a caller pass. It fails the test if the caller returned earlier.
func slot(t *testing.T, d headgate.Decision) time.Time {
	t.Helper()
	at := d.At.Add(d.Delay)
	if early := time.Until(at); early > time.Millisecond {
		t.Errorf("a caller returned %s before its slot", early)
	}
	return at
}

// A thousand callers in two processes wait for one key. Their slots must be exactly as far apart as the rate requires,
// and there must be at most 1.2 script calls per caller. TestWaitInOrder checks with its own clock that a process's
// callers pass in order.
func TestWaitOnRedis(t *testing.T) { onBoth(t, waitInTwoProcesses) }

func waitInTwoProcesses(t *testing.T, flavor redistest.Flavor) {
	limiters, stores := twoProcesses(t, flavor)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	const callers, rate = 1000, 500
	var wg sync.WaitGroup
	slots := make(chan time.Time, callers)
	for _, l := range limiters {
		p := l.PolicyOf("waiting", rule.TokenBucket(rule.PerSecond(rate), rule.Burst(1)))
		wg.Go(func() {
			for range callers / 2 {
				wg.Go(func() {
					d, err := p.Wait(ctx, "k")
					if err != nil {
						t.Error(err)
					}
					slots <- slot(t, d)
				})
				time.Sleep(100 * time.Microsecond)
			}
		})
	}
	wg.Wait()
	close(slots)
	var sorted []time.Time
	for at := range slots {
		sorted = append(sorted, at)
	}
	slices.SortFunc(sorted, time.Time.Compare)
	for i := 1; i < len(sorted); i++ {
		if gap := sorted[i].Sub(sorted[i-1]); gap < time.Second/rate-time.Microsecond {
			t.Fatalf("slots %d and %d are %s apart", i-1, i, gap)
		}
	}
	calls := stores[0].Stats().RoundTrips + stores[1].Stats().RoundTrips
	t.Logf("%d callers in %s, %d calls", callers, sorted[len(sorted)-1].Sub(sorted[0]), calls)
	if calls > callers*12/10 {
		t.Errorf("%d calls for %d callers", calls, callers)
	}
}

// Callers in two processes use Guava's own sequence of acquires: 1, 10, 1. The cost of each acquire delays the next
// acquire. Finally, the rate doubles while a caller waits.
func TestNextPaysOnRedis(t *testing.T) { onBoth(t, nextPaysInTwoProcesses) }

func nextPaysInTwoProcesses(t *testing.T, flavor redistest.Flavor) {
	limiters, stores := twoProcesses(t, flavor)
	policy := func(process, rate int64) *headgate.Policy {
		return limiters[process].PolicyOf("guava", rule.TokenBucket(rule.PerSecond(rate), rule.Burst(1), rule.NextPays()))
	}
	ctx := context.Background()
	const unit = 50 * time.Millisecond            // at 20 per second
	drained, err := policy(0, 20).Allow(ctx, "k") // Guava starts without stored permits
	if err != nil {
		t.Fatal(err)
	}
	free := drained.At // when nothing is owed any more
	for i, s := range []struct{ process, units int64 }{{0, 1}, {1, 10}, {0, 1}, {1, 1}, {0, 20}} {
		d, err := policy(s.process, 20).WaitN(ctx, "k", s.units)
		if err != nil {
			t.Fatal(err)
		}
		at, want := slot(t, d), free
		if d.At.After(want) {
			want = d.At
		}
		if off := at.Sub(want); off < -time.Microsecond || off > time.Microsecond {
			t.Errorf("request %d of %d units: its slot is %s off", i, s.units, off)
		}
		// An idle key accumulates a burst of at most 1.
		if earned := at.Add(-unit); earned.After(free) {
			free = earned
		}
		free = free.Add(time.Duration(s.units) * unit)
	}
	asked := stores[0].Stats().RoundTrips
	first := make(chan headgate.Decision, 1)
	go func() {
		d, err := policy(0, 20).Wait(ctx, "k")
		if err != nil {
			t.Error(err)
		}
		first <- d
	}()
	for stores[0].Stats().RoundTrips == asked {
		time.Sleep(10 * time.Millisecond) // the call is counted before its answer arrives
	}
	second, err := policy(1, 40).Wait(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	reserved := <-first
	if off := slot(t, reserved).Sub(free); reserved.Delay > 0 && (off < -time.Microsecond || off > time.Microsecond) {
		t.Errorf("the slot of the caller that had one is %s off", off)
	}
	// The amount owed when the caller arrived, including the caller's own unit, refills at twice the rate.
	want := reserved.At.Add((free.Sub(reserved.At) + unit) / 2)
	if off := slot(t, second).Sub(want); second.Delay > 0 && (off < -2*time.Microsecond || off > 2*time.Microsecond) {
		t.Errorf("the slot of a caller at twice the rate is %s off", off)
	}
}
