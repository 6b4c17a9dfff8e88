package headgate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// lateStore decides at once but answers late, like a store across a network. A caller whose context ends before the
// answer does not learn the outcome.
type lateStore struct {
	*counting

	late time.Duration
	back atomic.Bool // when set, answers are no longer delayed
}

func (s *lateStore) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	if ctx.Err() == nil {
		s.counting.Do(ctx, ops, results)
	}
	late := s.late
	if s.back.Load() {
		late = 0
	}
	select {
	case <-time.After(late):
	case <-ctx.Done():
		for i := range results {
			results[i].Err = fmt.Errorf("%w: %w", engine.ErrOutcomeUnknown, ctx.Err())
		}
	}
}

// everyWait contains limits of several kinds that can take back units. Warm-up is missing because it cannot take back a
// unit that it has begun to refill.
var everyWait = map[string]engine.Limit{
	"bucket":         rule.TokenBucket(rule.PerHour(5)),
	"pacer":          rule.Pacer(rule.PerHour(5), rule.MaxQueue(50)),
	"fixed window":   rule.FixedWindow(rule.PerHour(5)),
	"sliding window": rule.SlidingWindow(rule.PerHour(5)),
	"log":            rule.SlidingLog(rule.PerHour(5)),
}

// A caller whose context ends while its call is in flight returns at once, and the units that the call charged are
// given back after its late answer.
func TestWaitLeftInFlightCostsNothing(t *testing.T) {
	for name, limit := range everyWait {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, store := onMemory(t)
				late := headgate.New(headgate.WithStore(&lateStore{counting: store, late: 100 * time.Millisecond})).PolicyOf("p", limit)
				p := l.PolicyOf("p", limit)
				before, err := p.Allow(context.Background(), "k")
				if err != nil {
					t.Fatal(err)
				}
				for _, end := range []func() (context.Context, context.CancelFunc){
					func() (context.Context, context.CancelFunc) {
						return context.WithTimeout(context.Background(), 50*time.Millisecond)
					},
					func() (context.Context, context.CancelFunc) {
						ctx, cancel := context.WithCancel(context.Background())
						time.AfterFunc(50*time.Millisecond, cancel)
						return ctx, cancel
					},
				} {
					start := time.Now()
					ctx, cancel := end()
					if _, err := late.Wait(ctx, "k"); !errors.Is(err, ctx.Err()) || err == nil {
						t.Errorf("it left with %v", err)
					}
					cancel()
					if took := time.Since(start); took != 50*time.Millisecond {
						t.Errorf("it left after %s", took)
					}
					time.Sleep(time.Second)
					if d, err := p.Peek(context.Background(), "k", 1); err != nil || d.ResetAfter > before.ResetAfter || d.Remaining < before.Remaining {
						t.Errorf("after it has left: %+v, %v", d, err)
					}
				}
				if d, err := late.Wait(context.Background(), "k"); err != nil || !d.Allowed || d.ResetAfter <= before.ResetAfter && d.Remaining == before.Remaining {
					t.Errorf("one that stays: %+v, %v", d, err)
				}
			})
		})
	}
}

// A call whose answer never comes ends soon after its last caller has left, and does not block the key. Its units
// stay spent, because nobody knows whether the call charged them.
func TestWaitLeftInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, store := onMemory(t)
		hung := &lateStore{counting: store, late: 24 * time.Hour}
		p := headgate.New(headgate.WithStore(hung)).PolicyOf("p", rule.TokenBucket(rule.PerHour(5)))
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		if _, err := p.Wait(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it left with %v", err)
		}
		hung.back.Store(true)
		start := time.Now()
		if _, err := p.Wait(context.Background(), "k"); err != nil || time.Since(start) > time.Second {
			t.Errorf("the next one: %v, after %s", err, time.Since(start))
		}
	})
}

// When callers leave while their call is in flight, the last slots of the call are given back and the remaining callers
// move up, so that no slot stays empty.
func TestLeaversInFlightLeaveNoGap(t *testing.T) {
	for name, limit := range map[string]engine.Limit{
		"bucket": rule.TokenBucket(rule.PerSecond(1), rule.Burst(1)),
		"pacer":  rule.Pacer(rule.PerSecond(1), rule.MaxQueue(99)),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, store := onMemory(t)
				p := headgate.New(headgate.WithStore(&lateStore{counting: store, late: 100 * time.Millisecond})).PolicyOf("p", limit)
				leave, cancel := context.WithCancel(context.Background())
				time.AfterFunc(150*time.Millisecond, cancel) // the second call is in flight from 100 to 200 ms
				start := time.Now()
				var all sync.WaitGroup
				var mu sync.Mutex
				var passed []int64
				for i := range 12 {
					ctx := context.Background()
					if i%4 == 0 || i%4 == 3 {
						ctx = leave
					}
					all.Go(func() {
						_, err := p.Wait(ctx, "k")
						mu.Lock()
						defer mu.Unlock()
						if err == nil {
							passed = append(passed, int64(time.Since(start)/time.Second))
						} else if !errors.Is(err, context.Canceled) {
							t.Error(err)
						}
					})
					synctest.Wait()
				}
				all.Wait()
				// The first caller had its answer before it could leave.
				if got, want := fmt.Sprint(passed), "[0 1 2 3 4 5 6]"; got != want {
					t.Errorf("they passed in the seconds %s, want %s", got, want)
				}
				if d, err := p.Wait(context.Background(), "k"); err != nil || time.Since(start) > 8*time.Second {
					t.Errorf("the next one: %+v, %v, after %s", d, err, time.Since(start))
				}
			})
		})
	}
}

// While one caller always waits, no slot stays empty, however many other callers leave: a slot is given back before the
// next request is sent, which would otherwise get a later slot (regression: bug 84).
func TestLeaversLeaveNoGap(t *testing.T) {
	for name, limit := range map[string]engine.Limit{
		"bucket": rule.TokenBucket(rule.PerSecond(10), rule.Burst(1)),
		"pacer":  rule.Pacer(rule.PerSecond(10), rule.MaxQueue(99)),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, store := onMemory(t)
				p := headgate.New(headgate.WithStore(&lateStore{counting: store, late: 7 * time.Millisecond})).PolicyOf("p", limit)
				end := time.Now().Add(time.Minute)
				var passed atomic.Int64
				var all sync.WaitGroup
				for i := range 4 {
					random := rand.New(rand.NewPCG(7, uint64(i)))
					all.Go(func() {
						for time.Now().Before(end) {
							ctx, leave := context.WithCancel(context.Background())
							timer := time.AfterFunc(time.Duration(random.Int64N(int64(30*time.Millisecond))), leave)
							if _, err := p.Wait(ctx, "k"); err == nil {
								passed.Add(1)
							}
							timer.Stop()
							leave()
							time.Sleep(time.Duration(random.Int64N(int64(20 * time.Millisecond))))
						}
					})
				}
				for time.Now().Before(end) {
					if _, err := p.Wait(context.Background(), "k"); err != nil {
						t.Fatal(err)
					}
					passed.Add(1)
				}
				all.Wait()
				if passed.Load() < 590 {
					t.Errorf("%d passed in a minute at 10 a second", passed.Load())
				}
				time.Sleep(time.Second)
			})
		})
	}
}

// When an answer arrives after its caller has left, only units that have not refilled since are given back (regression: bug
// 58). Here a caller leaves before its answer, another caller is charged, and then the answer arrives.
func TestLateAnswerGivesBackNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := onMemory(t)
		limit := rule.TokenBucket(rule.PerSecond(10), rule.Burst(10))
		late := headgate.New(headgate.WithStore(&lateStore{counting: store, late: 500 * time.Millisecond})).PolicyOf("p", limit)
		p := l.PolicyOf("p", limit)
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		if _, err := late.WaitN(ctx, "k", 8); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it left with %v", err)
		}
		time.Sleep(300 * time.Millisecond) // 4 of the 8 are back
		if d, err := p.AllowN(context.Background(), "k", 6); err != nil || !d.Allowed {
			t.Errorf("%+v, %v", d, err)
		}
		time.Sleep(200 * time.Millisecond) // 3 of the first caller's 8 units and all 6 of the second caller's would be too many to give back
		if d, err := p.Peek(context.Background(), "k", 1); err != nil || d.Remaining > 6 || d.Remaining < 5 {
			t.Errorf("%d left, want 5 or 6, as if the first had never come: %v", d.Remaining, err)
		}
		time.Sleep(time.Second) // the answer to the settlement is late too
	})
}

// Close ends the waits of all callers, and gives their slots back to the other processes.
func TestCloseGivesSlotsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := onMemory(t)
		limit := rule.Pacer(rule.PerMinute(1), rule.MaxQueue(9))
		closed := headgate.New(headgate.WithStore(store))
		p := closed.PolicyOf("p", limit)
		if _, err := p.Wait(context.Background(), "k"); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if _, err := p.Wait(context.Background(), "k"); !errors.Is(err, headgate.ErrClosed) {
					t.Errorf("it left with %v", err)
				}
			})
		}
		synctest.Wait()
		if err := closed.Close(); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		if d, err := l.PolicyOf("p", limit).Peek(context.Background(), "k", 1); err != nil || d.ResetAfter > time.Minute {
			t.Errorf("%+v, %v", d, err)
		}
	})
}
