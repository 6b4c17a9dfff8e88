package headgate_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
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

// counting wraps a store and counts its calls.
type counting struct {
	engine.Store

	calls atomic.Int64
}

func (c *counting) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	c.calls.Add(1)
	c.Store.Do(ctx, ops, results)
}

func onMemory(t *testing.T) (*headgate.Limiter, *counting) {
	t.Helper()
	memory, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = memory.Close() })
	store := &counting{Store: memory}
	return headgate.New(headgate.WithStore(store)), store
}

// Callers pass in order of arrival, each as soon as the limit allows. Except with the log, almost every call to the
// store charges units.
func TestWaitInOrder(t *testing.T) {
	for name, limit := range map[string]engine.Limit{
		"bucket": rule.TokenBucket(rule.PerSecond(100), rule.Burst(1)),
		"burst":  rule.TokenBucket(rule.PerSecond(100), rule.Burst(20)),
		"fixed":  rule.FixedWindow(rule.Per(10, 100*time.Millisecond)),
		"log":    rule.SlidingLog(rule.Per(10, 100*time.Millisecond)),
		"pacer":  rule.Pacer(rule.PerSecond(100), rule.MaxQueue(50)),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, store := onMemory(t)
				p := l.PolicyOf("p", limit)
				const callers = 1000
				decisions := make([]headgate.Decision, callers)
				var wg sync.WaitGroup
				start := time.Now()
				for i := range callers {
					wg.Go(func() {
						time.Sleep(time.Duration(i) * time.Microsecond)
						d, err := p.Wait(context.Background(), "k")
						if err != nil || !d.Allowed {
							t.Errorf("%d: %+v, %v", i, d, err)
						}
						decisions[i] = d
					})
				}
				wg.Wait()
				took := time.Since(start)
				if took < 9500*time.Millisecond || took > 10500*time.Millisecond {
					t.Errorf("1000 callers took %s at 100 a second", took)
				}
				inOrder := func(a, b headgate.Decision) int {
					return cmp.Or(a.At.Compare(b.At), cmp.Compare(b.Remaining, a.Remaining))
				}
				if !slices.IsSortedFunc(decisions, inOrder) {
					t.Error("callers passed out of order")
				}
				if calls := store.calls.Load(); name != "log" && calls > callers*12/10 {
					t.Errorf("%d requests to the store for %d units", calls, callers)
				}
			})
		})
	}
}

// A wait that would end after the deadline fails at once, and charges nothing.
func TestWaitDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, limit := range map[string]engine.Limit{
			"bucket": rule.TokenBucket(rule.Per(1, time.Minute)),
			"pacer":  rule.Pacer(rule.Per(1, time.Minute), rule.MaxQueue(9)),
			"window": rule.FixedWindow(rule.PerMinute(1)), // this limit cannot reserve
		} {
			l, _ := onMemory(t)
			p := l.PolicyOf("p", limit)
			if _, err := p.Wait(context.Background(), "k"); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			late := func() {
				ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
				defer cancel()
				_, err := p.Wait(ctx, "k")
				var denied *headgate.DeniedError
				if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &denied) || denied.Decision.RetryAfter < 50*time.Second {
					t.Errorf("%s: %v", name, err)
				}
			}
			late()
			if took := time.Since(start); took != 0 {
				t.Errorf("%s: it took %s", name, took)
			}
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := p.Wait(context.Background(), "k"); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if took := time.Since(start); took < time.Minute || took > 62*time.Second {
					t.Errorf("%s: the next unit passed after %s", name, took)
				}
			})
			synctest.Wait()
			if name == "bucket" {
				late() // while in line
				if took := time.Since(start); took != 0 {
					t.Errorf("%s: it took %s in the line", name, took)
				}
			}
			wg.Wait()
		}
	})
}

// Callers whose context ends leave the line from any position, and the others pass.
func TestWaitCancelled(t *testing.T) {
	for name, c := range map[string]struct {
		limit engine.Limit
		leave func(i int) bool
		took  time.Duration // time until the remaining callers have passed
	}{
		"window":  {rule.FixedWindow(rule.PerSecond(1)), func(i int) bool { return i%2 == 1 }, 9 * time.Second},
		"last":    {rule.TokenBucket(rule.PerSecond(1)), func(i int) bool { return i >= 10 }, 9 * time.Second},
		"between": {rule.TokenBucket(rule.PerSecond(1)), func(i int) bool { return i%2 == 1 }, 9 * time.Second},
		"pacer":   {rule.Pacer(rule.PerSecond(1), rule.MaxQueue(99)), func(i int) bool { return i >= 10 }, 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, _ := onMemory(t)
				p := l.PolicyOf("p", c.limit)
				cancelled, cancel := context.WithCancel(context.Background())
				var passed, failed atomic.Int64
				var wg sync.WaitGroup
				start := time.Now()
				for i := range 20 {
					time.Sleep(time.Microsecond)
					wg.Go(func() {
						ctx := context.Background()
						if c.leave(i) {
							ctx = cancelled
						}
						switch _, err := p.Wait(ctx, "k"); {
						case err == nil:
							passed.Add(1)
						case errors.Is(err, context.Canceled):
							failed.Add(1)
						default:
							t.Error(err)
						}
					})
				}
				time.Sleep(500 * time.Millisecond)
				cancel()
				wg.Wait()
				took := time.Since(start)
				if passed.Load() != 10 || failed.Load() != 10 || took < c.took || took > c.took+time.Second {
					t.Errorf("%d passed, %d gave up, after %s", passed.Load(), failed.Load(), took)
				}
				// The next caller gets the units that were given back.
				if _, err := p.Wait(context.Background(), "k"); err != nil || time.Since(start) > c.took+2*time.Second {
					t.Errorf("the next caller passes after %s, %v", time.Since(start), err)
				}
			})
		})
	}
}

// Close ends every wait. A cost that can never pass is denied at once, and an invalid cost returns an error.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := onMemory(t)
		p := l.PolicyOf("p", rule.FixedWindow(rule.PerDay(1)))
		ctx := context.Background()
		if _, err := p.WaitN(ctx, "k", 2); !errors.Is(err, headgate.ErrDenied) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("2 of 1: %v", err)
		}
		if _, err := p.WaitN(ctx, "k", -1); !errors.Is(err, headgate.ErrInvalid) {
			t.Errorf("-1: %v", err)
		}
		if d, err := p.WaitN(ctx, "k", 0); err != nil || !d.Allowed {
			t.Errorf("0: %+v, %v", d, err)
		}
		if _, err := p.Wait(ctx, "k"); err != nil {
			t.Error(err)
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := p.Wait(ctx, "k"); !errors.Is(err, headgate.ErrClosed) {
					t.Errorf("after Close: %v", err)
				}
			})
		}
		time.Sleep(time.Hour)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		start := time.Now()
		wg.Wait()
		if took := time.Since(start); took != 0 {
			t.Errorf("a wait ended %s after Close", took)
		}
	})
}

// Two limiters on one store share a pacer: together 600 units a minute pass.
func TestTwoProcessesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, store := onMemory(t)
		limiters := []*headgate.Limiter{a, headgate.New(headgate.WithStore(store))}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		var passed atomic.Int64
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				p := limiters[i%2].PolicyOf("mail", rule.Pacer(rule.PerSecond(10), rule.MaxWait(300*time.Millisecond)))
				for {
					if _, err := p.Wait(ctx, "smtp"); err != nil {
						return
					}
					passed.Add(1)
				}
			})
		}
		wg.Wait()
		if n := passed.Load(); n < 595 || n > 601 {
			t.Errorf("%d passed in a minute at 10 a second", n)
		}
	})
}

// A call of Wait that passes at once does not allocate.
func TestWaitDoesNotAllocate(t *testing.T) {
	if raced.On {
		t.Skip("pools drop what they hold")
	}
	p := headgate.New().PolicyOf("p", rule.TokenBucket(rule.PerSecond(1_000_000)))
	ctx := context.Background()
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := p.Wait(ctx, "k"); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%.0f allocations", n)
	}
}

// A caller whose slot would be after its deadline fails at once, also if the pacer's queue has no room for it yet. Before,
// it waited for room first, and then failed (regression: bug 90).
func TestWaitFailsAtOnceBehindAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := headgate.New()
		defer l.Close()
		p := l.PolicyOf("p", rule.Pacer(rule.PerSecond(1), rule.MaxQueue(3)))
		for range 4 {
			if _, err := p.Allow(t.Context(), "k"); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		start := time.Now()
		if _, err := p.Wait(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, headgate.ErrDenied) || time.Since(start) > 0 {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
	})
}
