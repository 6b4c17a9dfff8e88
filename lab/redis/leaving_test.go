package redis

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
)

// afterAnswer is a store that cancels its caller's context immediately after the wrapped store's answer. The units are
// charged, but the answer arrives when the caller is gone.
type afterAnswer struct {
	engine.Store

	leave context.CancelFunc
	gone  chan struct{}
}

func (s *afterAnswer) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	s.Store.Do(ctx, ops, results)
	if k := ops[0].Kind; k == engine.OpAllow || k == engine.OpReserve {
		s.leave()
		<-s.gone
	}
}

// answered is a store that counts the calls that have returned to its caller.
type answered struct {
	engine.Store

	calls atomic.Int64
}

func (s *answered) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	s.Store.Do(ctx, ops, results)
	s.calls.Add(1)
}

// TestCancelledWaitsOnRedis checks that if a caller cancels while its call is in flight, or while it waits for its
// slot, exactly the units that it took are given back.
func TestCancelledWaitsOnRedis(t *testing.T) {
	limiters, stores := twoProcesses(t, redistest.Redis)
	for name, limit := range map[string]engine.Limit{
		"bucket": rule.TokenBucket(rule.PerHour(5)),
		"pacer":  rule.Pacer(rule.PerHour(5), rule.MaxQueue(50)),
		"fixed":  rule.FixedWindow(rule.PerHour(5)),
		"window": rule.SlidingWindow(rule.PerHour(5)),
		"log":    rule.SlidingLog(rule.PerHour(5)),
	} {
		for i := range limiters {
			t.Run(name, func(t *testing.T) {
				key := headgate.Key(name, string(rune('a'+i)))
				p := limiters[1-i].PolicyOf("cancelled", limit)
				before, err := p.Allow(t.Context(), key)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				store := &afterAnswer{stores[i], cancel, make(chan struct{})}
				leaving := headgate.New(headgate.WithStore(store)).PolicyOf("cancelled", limit)
				if _, err := leaving.Wait(ctx, key); !errors.Is(err, context.Canceled) {
					t.Errorf("one left in flight with %v", err)
				}
				close(store.gone)
				testbed.Until(t, "the units of the one that left in flight are back", func() bool {
					d, err := p.Peek(t.Context(), key, 1)
					return err == nil && d.ResetAfter <= before.ResetAfter && d.Remaining >= before.Remaining
				})
				if d, err := p.Peek(t.Context(), key, 1); err != nil || d.Remaining > before.Remaining {
					t.Errorf("%d are left, and were %d: %v", d.Remaining, before.Remaining, err)
				}
			})
		}
	}
}

// TestLeaversOfSlotsOnRedis checks that when callers of Wait and clients of middleware cancel, they leave no gap
// before the remaining callers.
func TestLeaversOfSlotsOnRedis(t *testing.T) {
	limiters, stores := twoProcesses(t, redistest.Redis)
	p := limiters[0].PolicyOf("slots", rule.Pacer(rule.PerMinute(1), rule.MaxQueue(99)))
	answers := &answered{Store: stores[0]}
	byWeb := headgate.New(headgate.WithStore(answers)).PolicyOf("slots", rule.Pacer(rule.PerMinute(1), rule.MaxQueue(99)))
	served := httplimit.New(byWeb, httplimit.All())(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a client that has left is served") }))
	if _, err := p.Allow(t.Context(), "all"); err != nil {
		t.Fatal(err)
	}
	leave, cancel := context.WithCancel(t.Context())
	leaveWeb, cancelWeb := context.WithCancel(t.Context())
	var all, web sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if _, err := p.Wait(leave, "all"); !errors.Is(err, context.Canceled) {
				t.Errorf("one left with %v", err)
			}
		})
	}
	peek := func() headgate.Decision {
		d, err := limiters[1].PolicyOf("slots", rule.Pacer(rule.PerMinute(1), rule.MaxQueue(99))).Peek(t.Context(), "all", 1)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	testbed.Until(t, "ten wait", func() bool { return peek().Delay > 10*time.Minute })
	for range 5 {
		web.Go(func() {
			served.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody).WithContext(leaveWeb))
		})
	}
	testbed.Until(t, "fifteen wait", func() bool { return peek().Delay > 15*time.Minute })
	// A client whose answer has not arrived may wait. Therefore the slots before its slot cannot be given back.
	testbed.Until(t, "the clients have their slots", func() bool { return answers.calls.Load() == 5 && peek().Delay > 15*time.Minute })
	cancelWeb()
	web.Wait()
	// If a caller leaves during its call, it returns immediately. Its slot is given back when the answer arrives.
	testbed.Until(t, "the five slots of the middleware are back", func() bool {
		d := peek().Delay
		return d <= 11*time.Minute && d >= 10*time.Minute
	})
	cancel()
	all.Wait()
	testbed.Until(t, "all slots are back", func() bool {
		d := peek().Delay
		return d <= time.Minute && d > 0
	})
}
