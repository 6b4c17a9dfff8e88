package httplimit_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

// Regression: bug 58. A final cost of 0 does not give back units that have already refilled, or whose window has ended.
// Here failed requests that should not count are charged, and their responses come after the limit has recovered.
func TestFinalCostGivesBackNothingTwice(t *testing.T) {
	for name, limit := range map[string]engine.Limit{
		"bucket": rule.TokenBucket(rule.PerSecond(10)),
		"fixed":  rule.FixedWindow(rule.PerSecond(10)),
		"strict": rule.SlidingWindow(rule.PerSecond(10), rule.Strict()),
		"log":    rule.SlidingLog(rule.PerSecond(10)),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := headgate.New()
				defer l.Close()
				p := l.PolicyOf("p", limit)
				slow := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(1100 * time.Millisecond) })
				h := httplimit.New(p, httplimit.All(), httplimit.WithFinalCost(httplimit.OnlyFailures))(slow)
				var mu sync.Mutex
				passed := 0
				var all sync.WaitGroup
				for range 10 {
					all.Go(func() { get(h) })
				}
				time.Sleep(1050 * time.Millisecond)
				for range 2 { // the first ten responses come between the two rounds
					for range 10 {
						all.Go(func() {
							if get(h).Code == http.StatusOK {
								mu.Lock()
								defer mu.Unlock()
								passed++
							}
						})
					}
					time.Sleep(100 * time.Millisecond)
				}
				all.Wait()
				if passed < 10 || passed > 11 { // a unit refills in 100 ms
					t.Errorf("%d requests passed together, want 10", passed)
				}
			})
		})
	}
}

// Settling charges or gives back only the difference from the first charge, on each limit. It can charge more than a
// window has left.
func TestFinalCostOfSeveralLimits(t *testing.T) {
	p := limiter(t).PolicyOf("p", rule.FixedWindow(rule.PerHour(10)), rule.SlidingLog(rule.PerHour(100)), engine.NoLimit())
	for _, c := range []struct{ cost, final, small, large int64 }{{4, 1, 1, 1}, {2, 5, 6, 6}, {0, 2, 8, 8}, {1, 30, 10, 38}} {
		h := httplimit.New(p, httplimit.All(), httplimit.WithCost(func(*http.Request) int64 { return c.cost }),
			httplimit.WithFinalCost(func(*http.Request, httplimit.Response) int64 { return c.final }))
		get(h(answers), func(r *http.Request) { r.URL.RawQuery = "200,0" })
		d, err := p.Peek(t.Context(), "all", 0)
		if err != nil || 10-d.Limits[0].Remaining != c.small || 100-d.Limits[1].Remaining != c.large {
			t.Errorf("after %d and then %d: %+v, %v; want %d and %d spent", c.cost, c.final, d.Limits, err, c.small, c.large)
		}
	}
}

// If a client leaves while a pacer delays its request, the units are given back to all of the request's limits, and
// later requests move up.
func TestDisconnectGivesPacerSlotBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := headgate.New()
		defer l.Close()
		p := l.PolicyOf("p", rule.Pacer(rule.PerSecond(1), rule.MaxQueue(99)), rule.FixedWindow(rule.PerDay(100)))
		start := time.Now()
		var mu sync.Mutex
		var served []time.Duration
		h := httplimit.New(p, httplimit.All())(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			served = append(served, time.Since(start))
		}))
		leave, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				get(h, func(r *http.Request) {
					if i%2 == 1 {
						*r = *r.WithContext(leave)
					}
				})
			})
			synctest.Wait()
		}
		time.Sleep(500 * time.Millisecond)
		cancel()
		all.Wait()
		for i, at := range served {
			if at != time.Duration(i)*time.Second {
				t.Errorf("request %d is served after %s", i, at)
			}
		}
		d, err := p.Peek(t.Context(), "all", 1)
		if err != nil || len(served) != 5 || d.Limits[1].Remaining != 95 || d.Delay > time.Second {
			t.Errorf("%d are served, and then: %+v, %v", len(served), d, err)
		}
	})
}

// lateAnswers is a store whose answer comes after the client has left, so the cancelled call never sees the charge.
type lateAnswers struct {
	engine.Store

	leave context.CancelFunc
}

func (s *lateAnswers) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	s.Store.Do(ctx, ops, results)
	if ops[0].Kind != engine.OpAllow || s.leave == nil {
		return
	}
	s.leave()
	synctest.Wait()
	if err := ctx.Err(); err != nil {
		for i := range results {
			results[i] = engine.Answer{Err: err}
		}
	}
}

// If a client leaves while the store decides, the slot in the late answer is given back.
func TestDisconnectInFlightGivesSlotBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, err := memstore.New(memstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer memory.Close()
		store := &lateAnswers{Store: memory}
		p := headgate.New(headgate.WithStore(store)).PolicyOf("p", rule.Pacer(rule.PerSecond(1), rule.MaxQueue(99)))
		h := httplimit.New(p, httplimit.All())(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		get(h)
		leave, cancel := context.WithCancel(t.Context())
		store.leave = cancel
		get(h, func(r *http.Request) { *r = *r.WithContext(leave) })
		if d, err := p.Peek(t.Context(), "all", 1); err != nil || d.Delay != time.Second {
			t.Errorf("the next one waits %s, want 1s: %v", d.Delay, err)
		}
	})
}

// delaying is a decider whose pacer delays every request for an hour.
type delaying struct{ final int64 }

func (d *delaying) AllowRequest(*http.Request) (headgate.Decision, error) {
	return headgate.Decision{Allowed: true, Delay: time.Hour}, nil
}

func (d *delaying) ChargeRequest(r *http.Request, _ bool) (httplimit.Answer, error) {
	decision, err := d.AllowRequest(r)
	return httplimit.Answer{Decision: decision, Cost: 3, Settle: func(_ context.Context, final int64) error { d.final = final; return nil }}, err
}

// If a client leaves while a decider's pacer delays its request, the request is settled with 0 units.
func TestDisconnectedClientOfADeciderIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &delaying{final: -1}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		w := get(httplimit.By(d)(answers), func(r *http.Request) { *r = *r.WithContext(ctx) })
		if w.Code != http.StatusServiceUnavailable || d.final != 0 {
			t.Errorf("%d, settled with %d", w.Code, d.final)
		}
	})
}

// For an adapter whose outer handlers write the response, the request is settled with the last response when its
// context ends.
func TestSettleAtEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := limiter(t).PolicyOf("p", rule.FixedWindow(rule.PerHour(9)))
		m := httplimit.NewMiddleware(p, httplimit.All(), httplimit.WithFinalCost(httplimit.OnlyFailures))
		for i, c := range []struct {
			status int // from the outer handler, or 0 if it writes none
			want   int64
		}{{0, 0}, {http.StatusUnauthorized, 1}} {
			ctx, end := context.WithCancel(t.Context())
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/login", http.NoBody)
			charge, _ := m.Admit(httptest.NewRecorder(), r)
			note := m.SettleAtEnd(r, &charge, httplimit.Response{Status: http.StatusOK})
			if c.status > 0 {
				note(httplimit.Response{Status: c.status})
			}
			end()
			synctest.Wait()
			if got := spent(t, p); got != c.want {
				t.Errorf("request %d: %d spent, want %d", i, got, c.want)
			}
		}
	})
}

// A unit in flight does not depend on the response, so the next request of a client has it: it comes before the server
// has run what follows the context's end (regression: bug 281).
func TestInFlightEndsBeforeTheResponse(t *testing.T) {
	inFlight := httplimit.InFlight(limiter(t).Semaphore("s", headgate.Concurrency{Units: 1}), httplimit.All())
	for name, m := range map[string]*httplimit.Middleware{
		"alone":             httplimit.MiddlewareBy(inFlight),
		"with a final cost": httplimit.MiddlewareBy(inFlight, httplimit.WithFinalCost(httplimit.OnlyFailures)),
	} {
		ctx, end := context.WithCancel(t.Context())
		for range 2 {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
			charge, ok := m.Admit(httptest.NewRecorder(), r)
			if !ok {
				t.Errorf("%s: %s", name, charge.Decision)
			}
			m.SettleAtEnd(r, &charge, httplimit.Response{Status: http.StatusOK})
		}
		end()
	}
}
