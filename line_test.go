package headgate_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

// Callers with different limits, or with different parameters of one limit, do not wait for each other.
func TestWaitersOfOtherLimitsPass(t *testing.T) {
	for name, c := range map[string]struct{ waits, passes engine.Limit }{
		"another limit":   {rule.FixedWindow(rule.PerHour(1)), rule.SlidingLog(rule.PerHour(1000))},
		"a raised window": {rule.FixedWindow(rule.PerHour(2)), rule.FixedWindow(rule.PerHour(1000))},
		"a raised log":    {rule.SlidingLog(rule.PerHour(2)), rule.SlidingLog(rule.PerHour(1000))},
		"another bucket":  {rule.SlidingLog(rule.PerHour(1)), rule.TokenBucket(rule.PerHour(1000))},
		"a pacer":         {rule.SlidingLog(rule.PerHour(1)), rule.Pacer(rule.PerSecond(10), rule.MaxQueue(9))},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, _ := onMemory(t)
				before := l.PolicyOf("p", c.waits)
				for d, err := before.Allow(context.Background(), "k"); d.Allowed; d, err = before.Allow(context.Background(), "k") {
					if err != nil {
						t.Fatal(err)
					}
				}
				leave, cancel := context.WithCancel(context.Background())
				var waiting sync.WaitGroup
				for range 3 {
					waiting.Go(func() {
						if _, err := before.Wait(leave, "k"); !errors.Is(err, context.Canceled) {
							t.Errorf("one passes beyond the limit: %v", err)
						}
					})
				}
				synctest.Wait()
				start := time.Now()
				ctx, end := context.WithTimeout(context.Background(), time.Second)
				defer end()
				d, err := l.PolicyOf("p", c.passes).Wait(ctx, "k")
				if err != nil || !d.Allowed || time.Since(start) != 0 {
					t.Errorf("%+v, %v, after %s", d, err, time.Since(start))
				}
				cancel()
				waiting.Wait()
			})
		})
	}
}

// Callers with different lists of several limits do not wait for each other either.
func TestWaitersUnderSeveralLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := onMemory(t)
		policy := func(day int64) *headgate.Policy {
			return l.PolicyOf("plan", rule.FixedWindow(rule.PerDay(day)), rule.FixedWindow(rule.PerMinute(9)))
		}
		free, same, paid := policy(2), policy(2), policy(2000)
		ctx := context.Background()
		if _, err := free.WaitN(ctx, "k", 2); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		got := map[string]headgate.Decision{}
		var waiting sync.WaitGroup
		for _, w := range []struct {
			name   string
			policy *headgate.Policy
		}{{"free", free}, {"same", same}, {"paid", paid}} {
			waiting.Go(func() {
				d, err := w.policy.Wait(ctx, "k")
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				got[w.name] = d
			})
			synctest.Wait()
		}
		waiting.Wait()
		// Free and same pass at the same instant, so the remaining units show which of them came first.
		first, second := got["free"], got["same"]
		if !got["paid"].At.Before(first.At) || first.At != second.At || first.Remaining != 1 || second.Remaining != 0 {
			t.Errorf("they passed as %+v", got)
		}
	})
}

// A released permit wakes callers that wait for units of its key even if their limit has other parameters, for example
// after the limit was raised.
func TestReleaseWakesWaitersOfAllNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := onMemory(t)
		ctx := context.Background()
		few := l.SemaphoreOf("jobs", rule.Concurrency(1, rule.LeaseTime(time.Hour)))
		more := l.SemaphoreOf("jobs", rule.Concurrency(2, rule.LeaseTime(time.Hour)))
		_, first, err := acquireHeld(ctx, few, "k", 1)
		if err != nil {
			t.Fatal(err)
		}
		var held atomic.Int64
		var waiting sync.WaitGroup
		hold := func(p *headgate.Semaphore) {
			waiting.Go(func() {
				_, permit, err := acquireHeld(ctx, p, "k", 1)
				if err != nil {
					t.Error(err)
					return
				}
				held.Add(1)
				time.Sleep(24 * time.Hour)
				_ = permit.Release(ctx)
			})
			time.Sleep(10 * time.Second)
		}
		hold(few)
		if hold(more); held.Load() != 1 {
			t.Errorf("%d hold units beside the first, want the one under the raised limit", held.Load())
		}
		hold(more)
		asked := store.calls.Load()
		if err := first.Release(ctx); err != nil {
			t.Fatal(err)
		}
		if synctest.Wait(); held.Load() != 2 {
			t.Errorf("%d hold units at once after the release, want 2 (%d calls)", held.Load(), store.calls.Load()-asked)
		}
		waiting.Wait()
	})
}

// Many callers of one key leave together, while callers of other keys pass. Each leaves its line, turn or slot in
// constant time: see internal/queue.
func TestManyWaitersLeave(t *testing.T) {
	for name, limit := range map[string]engine.Limit{
		"line":  rule.FixedWindow(rule.PerDay(1)),
		"slots": rule.TokenBucket(rule.PerHour(1), rule.Burst(1)),
	} {
		t.Run(name, func(t *testing.T) {
			many := 20_000
			if raced.On {
				many = 5000 // the race detector supports at most 8128 goroutines
			}
			l, store := onMemory(t)
			defer l.Close()
			p := l.PolicyOf("p", limit)
			ctx := context.Background()
			if _, err := p.Wait(ctx, "many"); err != nil {
				t.Fatal(err)
			}
			leave, cancel := context.WithCancel(ctx)
			var arrived, left sync.WaitGroup
			arrived.Add(many)
			for range many {
				left.Go(func() {
					arrived.Done()
					if _, err := p.Wait(leave, "many"); !errors.Is(err, context.Canceled) && !errors.Is(err, headgate.ErrStoreUnavailable) {
						t.Errorf("a caller leaves with %v", err)
					}
				})
			}
			arrived.Wait()
			asked := store.calls.Load()
			cancel()
			for i := range 100 {
				if _, err := p.Wait(ctx, headgate.Key("other", string(rune('a'+i)))); err != nil {
					t.Error(err)
				}
			}
			left.Wait()
			if calls := store.calls.Load() - asked; calls > int64(many) {
				t.Errorf("%d calls of the store for %d leavers", calls, many)
			}
			if d, err := p.Wait(ctx, "next"); err != nil || !d.Allowed {
				t.Errorf("the next caller: %+v, %v", d, err)
			}
		})
	}
}

// An observer that panics does not block the callers behind (regression: bug 280).
func TestPanicLeavesTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		l := headgate.New(headgate.WithObserver(func(context.Context, headgate.Result) {
			if calls.Add(1) == 3 { // a call of the second caller, which waits
				panic("observer")
			}
		}))
		defer func() { _ = l.Close() }()
		window := l.Policy("window", headgate.FixedWindow{Rate: headgate.PerSecond(1)})
		semaphore := l.Semaphore("semaphore", headgate.Concurrency{Units: 1, Lease: time.Second})
		for name, wait := range map[string]func(context.Context) error{
			"wait":    func(ctx context.Context) error { _, err := window.Wait(ctx, "k"); return err },
			"acquire": func(ctx context.Context) error { _, err := semaphore.Acquire(ctx, "k", 1); return err },
		} {
			calls.Store(0)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			panicked := 0
			for range 3 {
				func() {
					defer func() {
						if recover() != nil {
							panicked++
						}
					}()
					if err := wait(ctx); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}()
			}
			cancel()
			if panicked != 1 {
				t.Errorf("%s: %d panics", name, panicked)
			}
		}
	})
}

// A permit whose caller's observer panics is released, because the caller does not get it.
func TestPanicReleasesThePermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := headgate.New(headgate.WithObserver(func(_ context.Context, r headgate.Result) {
			if r.Key == "panics" {
				panic("observer")
			}
		}))
		defer func() { _ = l.Close() }()
		semaphore := l.Semaphore("semaphore", headgate.Concurrency{Units: 1, Lease: time.Hour})
		ctx := t.Context()
		for name, acquire := range map[string]func(){
			"Acquire":    func() { _, _ = semaphore.Acquire(ctx, "panics", 1) },
			"TryAcquire": func() { _, _, _ = semaphore.TryAcquire(ctx, "panics", 1) },
			"ReserveAll": func() { _, _, _ = l.ReserveAll(ctx, headgate.Charge{Semaphore: semaphore, Key: "panics"}) },
			"Do": func() {
				of := semaphore.Core()
				op := engine.Op{Kind: engine.OpAcquire, ID: "id", Space: of.Space(), Key: "panics", Charges: of.Charges(nil, 1)}
				l.Core().Decide(ctx, op)
			},
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: the observer did not panic", name)
					}
				}()
				acquire()
			}()
			synctest.Wait()
			if d, err := semaphore.Peek(ctx, "panics", 1); err != nil || !d.Allowed {
				t.Errorf("after %s: %+v, %v", name, d, err)
			}
		}
	})
}

// slow is a store whose calls take a millisecond.
type slow struct{ engine.Store }

func (s slow) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	time.Sleep(time.Millisecond)
	s.Store.Do(ctx, ops, results)
}

// Callers of Wait that share a call are observed each with its own context, and in its goroutine. Another caller gets
// the slot of one whose observer panics (regression: bug 284).
func TestSharedCallsAreObservedByTheirCallers(t *testing.T) {
	type own struct{}
	synctest.Test(t, func(t *testing.T) {
		memory, err := memstore.New(memstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var observed sync.Map
		observer := func(ctx context.Context, _ headgate.Result) {
			name, _ := ctx.Value(own{}).(string)
			observed.Store(name, true)
			if name == "panics" {
				panic("observer")
			}
		}
		l := headgate.New(headgate.WithStore(slow{memory}), headgate.WithObserver(observer))
		bucket := l.Policy("bucket", headgate.TokenBucket{Rate: headgate.PerSecond(1), Burst: 1})
		wait := func(name string) {
			defer func() {
				if failed := recover(); (failed != nil) != (name == "panics") {
					t.Errorf("%s: %v", name, failed)
				}
			}()
			ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), own{}, name), time.Minute)
			defer cancel()
			if _, err := bucket.Wait(ctx, "k"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		start := time.Now()
		wait("first")
		wait("panics")
		var waiting sync.WaitGroup
		for _, name := range []string{"a", "b", "c"} {
			waiting.Go(func() { wait(name) })
		}
		waiting.Wait()
		if took := time.Since(start); took < 3*time.Second || took > 3*time.Second+20*time.Millisecond {
			t.Errorf("five callers, of whom one gives its slot up, took %s", took)
		}
		for _, name := range []string{"first", "panics", "a", "b", "c"} {
			if _, ok := observed.Load(name); !ok {
				t.Errorf("%s is not observed", name)
			}
		}
		_ = l.Close()
		_ = memory.Close()
	})
}
