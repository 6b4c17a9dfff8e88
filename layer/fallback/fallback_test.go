package fallback_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/storetest"
)

// While the store is up, the layer changes no answer.
func TestKeepsTheRulesOfAStore(t *testing.T) {
	storetest.Run(t, storetest.Options{New: func(t *testing.T, now func() time.Time) engine.Store {
		t.Helper()
		// A store creates a thousand locks by default. This is slow under the race detector, so the tests use fewer
		// keys.
		memory := memstore.Config{Clock: now, MaxKeys: 1 << 14}
		next, err := memstore.New(memory)
		if err != nil {
			t.Fatal(err)
		}
		store, err := fallback.New(next, join(t, next, now), fallback.Config{Memory: memory})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		return store
	}})
}

// In an outage a key continues with the units that it had left. All processes together allow no more than the limit
// plus its refill.
func TestSharesOfAnOutage(t *testing.T) {
	for _, c := range []struct {
		limit        engine.Limit
		spent        int64 // before the outage
		left, refill int64 // in the outage, at once and in 2 s
	}{
		{rule.TokenBucket(rule.PerSecond(8), rule.Burst(40)), 20, 20, 16},
		{rule.TokenBucket(rule.PerSecond(8), rule.Burst(40)), 40, 0, 16},
		{rule.AdaptiveRate(rule.PerSecond(8), 4, 16, rule.Burst(40)), 20, 20, 16},
		{rule.FixedWindow(rule.PerMinute(40)), 20, 20, 0},
		{rule.SlidingWindow(rule.PerMinute(40), rule.Strict()), 32, 8, 0},
		{rule.SlidingLog(rule.PerMinute(40)), 36, 4, 0},
		{rule.WarmUp(rule.PerSecond(8), 4*time.Second, rule.Burst(40)), 0, 40, 16},
	} {
		t.Run(c.limit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t)
				all := s.start(t, 4, fallback.Config{})
				defer end(t, all)
				if _, err := all[0].Limiter.PolicyOf("p", c.limit).AllowN(t.Context(), "k", c.spent); err != nil {
					t.Fatal(err)
				}
				for _, p := range all { // each process receives the remaining units
					if d, err := p.Limiter.PolicyOf("p", c.limit).Peek(t.Context(), "k", 1); err != nil || d.Promise.Mode != engine.Exact {
						t.Fatal(d, err)
					}
				}
				s.set(headgate.ErrStoreUnavailable, false)
				for _, p := range all { // a share ignores outcomes
					p.Limiter.PolicyOf("p", c.limit).Outcome("k", true, time.Hour)
				}
				passed, last := allow(t, all, "k", c.limit)
				if passed != c.left || last.Promise.Mode != engine.Fallback || last.Promise.OvershootMax != 80 {
					t.Errorf("%d units passed at once, %+v; want %d, and a bound of 80", passed, last.Promise, c.left)
				}
				time.Sleep(2 * time.Second)
				if passed, _ = allow(t, all, "k", c.limit); passed > c.refill || passed < c.refill-8 {
					t.Errorf("%d units passed after 2 s; want at most %d", passed, c.refill)
				}
			})
		})
	}
}

// Each share of a pacer includes a queue and a burst of 1, which the stated bound takes into account. The bound also
// includes the debt of a bucket.
func TestBoundOfQueues(t *testing.T) {
	for name, c := range map[string]struct {
		limit engine.Limit
		bound int64
	}{
		"pacer":        {rule.Pacer(rule.PerMinute(20), rule.MaxQueue(10)), 2*(3+10) + 2},
		"pacer burst":  {rule.Pacer(rule.PerMinute(20), rule.Burst(5), rule.MaxQueue(10)), 2 * 15},
		"pacer wait":   {rule.Pacer(rule.PerMinute(20), rule.MaxWait(30*time.Second)), 2*(3+10) + 2},
		"token bucket": {rule.TokenBucket(rule.PerMinute(20), rule.AllowDebt(10)), 2 * (20 + 10)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t)
				all := s.start(t, 3, fallback.Config{})
				defer end(t, all)
				s.set(headgate.ErrStoreUnavailable, false)
				passed, last := allow(t, all, "k", c.limit)
				if passed > c.bound || last.Promise.OvershootMax != c.bound {
					t.Errorf("%d units passed, the bound is %d; want %d", passed, last.Promise.OvershootMax, c.bound)
				}
			})
		})
	}
}

// While a store hangs, only the first few calls wait for it. Soon after it answers again it is used again, with the
// state that it has kept.
func TestHangingStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 1, fallback.Config{})
		defer end(t, all)
		limit := rule.FixedWindow(rule.PerHour(1000))
		call := func() (took time.Duration, d headgate.Decision) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			began := time.Now()
			d, err := all[0].Limiter.PolicyOf("p", limit).Allow(ctx, "k")
			if err != nil {
				t.Fatal(err)
			}
			return time.Since(began), d
		}
		if _, d := call(); d.Promise.Mode != engine.Exact {
			t.Fatal(d)
		}
		s.set(nil, true)
		for i := range 20 {
			took, d := call()
			if want := 100 * time.Millisecond; d.Promise.Mode != engine.Fallback || i <= 4 && took != want || i > 4 && took != 0 {
				t.Errorf("call %d: %s after %s", i, d.Promise.Mode, took)
			}
		}
		if stats := all[0].store.Stats(); !stats.Away || stats.Outages != 1 || stats.Answered != 20 || !errors.Is(all[0].store.Cause(), context.DeadlineExceeded) {
			t.Errorf("%+v, %v", stats, all[0].store.Cause())
		}
		s.set(nil, false)
		time.Sleep(time.Second)
		if _, d := call(); d.Promise.Mode != engine.Exact || d.Remaining != 998 {
			t.Errorf("a second after the store is back: %+v", d)
		}
	})
}

// Regression: bug 66. A call whose context had already ended gives no information about the store. It returns the
// context's error, is not decided by a share, and the store stays in use.
func TestEndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 1, fallback.Config{})
		defer end(t, all)
		over, cancelOver := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancelOver()
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		p := all[0].Limiter.PolicyOf("p", rule.FixedWindow(rule.PerHour(5)))
		for range 50 {
			for ctx, want := range map[context.Context]error{over: context.DeadlineExceeded, cancelled: context.Canceled} {
				if d, err := p.Allow(ctx, "k"); !errors.Is(err, want) {
					t.Fatalf("%+v, %v; want %v", d, err, want)
				}
			}
			time.Sleep(10 * time.Millisecond) // the failures of an outage continue for a while
		}
		if stats := all[0].store.Stats(); stats.Away || stats.Outages != 0 || stats.Answered != 0 || all[0].store.Cause() != nil {
			t.Errorf("%+v, cause %v; want a store in use", stats, all[0].store.Cause())
		}
		if passed, last := allow(t, all, "k", rule.FixedWindow(rule.PerHour(5))); passed != 5 || last.Promise.Mode != engine.Exact {
			t.Errorf("%d of 5 passed, the last by mode %s; want all by the store", passed, last.Promise.Mode)
		}

		s.lose(t)
		for all[0].store.Stats().Losses == 0 {
			time.Sleep(time.Second)
		}
		if d, err := p.Allow(over, "other"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after a loss: %+v, %v", d, err)
		}
	})
}

// After the store has lost its data, a key that is remembered is held to its units until the limit has recovered. A limit
// that recovers sooner is exact sooner.
func TestStoreComesBackEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 2, fallback.Config{})
		defer end(t, all)
		limit, short := rule.SlidingLog(rule.PerMinute(40)), rule.FixedWindow(rule.PerSecond(10))
		if passed, _ := allow(t, all, "k", limit); passed != 40 {
			t.Fatal(passed)
		}
		s.set(headgate.ErrStoreUnavailable, false)
		if passed, _ := allow(t, all, "k", limit); passed != 0 {
			t.Fatalf("%d units passed in the outage", passed)
		}
		s.lose(t)
		s.set(nil, false)
		time.Sleep(2 * time.Second)
		passed, last := allow(t, all, "k", limit)
		if stats := all[0].store.Stats(); passed != 0 || last.Promise.Mode != engine.Fallback || last.Promise.OvershootMax != 40 || stats.Away || stats.Losses != 1 || stats.Processes != 2 {
			t.Errorf("%d units passed after the loss: %+v, %+v", passed, last.Promise, stats)
		}
		if _, d := allow(t, all, "other", short); d.Promise.Mode != engine.Exact {
			t.Errorf("a limit of a second, 2 s after the loss: %s", d.Promise.Mode)
		}
		time.Sleep(time.Minute)
		if passed, last = allow(t, all, "k", limit); passed != 40 || last.Promise.Mode != engine.Exact {
			t.Errorf("%d units passed a minute after the loss: %s", passed, last.Promise.Mode)
		}
	})
}

// A loss is still in effect after requests on limits that recover quickly. If the store fails again, shares decide even
// limits that have recovered.
func TestLossIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 2, fallback.Config{})
		defer end(t, all)
		limit, short := rule.FixedWindow(rule.PerHour(40)), rule.FixedWindow(rule.PerSecond(10))
		s.lose(t)
		time.Sleep(5 * time.Second)
		for range 3 {
			if _, d := allow(t, all, "k", short); d.Promise.Mode != engine.Exact {
				t.Fatalf("a limit of a second: %s", d.Promise.Mode)
			}
			time.Sleep(2 * time.Second)
		}
		if d, err := all[0].Limiter.PolicyOf("p", limit).Allow(t.Context(), "k"); err != nil || d.Promise.Mode != engine.Fallback {
			t.Errorf("a limit of an hour, 11 s after the loss: %+v, %v", d, err)
		}
		s.set(headgate.ErrStoreUnavailable, false)
		if d, err := all[0].Limiter.PolicyOf("p", short).Allow(t.Context(), "k"); err != nil || d.Promise.Mode != engine.Fallback {
			t.Errorf("a limit of a second, and the store is away again: %+v, %v", d, err)
		}
	})
}

// loud is an error that lasts until an operator fixes its cause.
type loud struct{}

func (loud) Error() string   { return "wrong password" }
func (loud) Away() bool      { return false }
func (loud) Is(e error) bool { return e == headgate.ErrStoreUnavailable }

// The store's error is returned if it does not mean an outage, if shares cannot decide the operation, or if the process
// does not know the number of processes.
func TestUnansweredOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 1, fallback.Config{})
		defer end(t, all)
		limit := rule.TokenBucket(rule.PerSecond(10))
		s.set(loud{}, false)
		for range 20 {
			if _, err := all[0].Limiter.PolicyOf("p", limit).Allow(t.Context(), "k"); !errors.Is(err, headgate.ErrStoreUnavailable) {
				t.Fatalf("a wrong password: %v", err)
			}
		}
		s.set(nil, true)
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		for range 20 {
			if _, err := all[0].Limiter.PolicyOf("p", limit).Allow(cancelled, "k"); !errors.Is(err, context.Canceled) {
				t.Fatalf("a cancelled call: %v", err)
			}
		}
		if all[0].store.Stats().Outages != 0 {
			t.Error("these errors began an outage")
		}
		s.set(headgate.ErrStoreUnavailable, false)
		if _, err := all[0].Limiter.PolicyOf("p", limit).Give(t.Context(), "k", 1); !errors.Is(err, headgate.ErrStoreUnavailable) {
			t.Errorf("give: %v", err)
		}
		alone := s.start(t, 1, fallback.Config{})
		defer end(t, alone)
		if _, err := alone[0].Limiter.PolicyOf("p", limit).Allow(t.Context(), "k"); !errors.Is(err, headgate.ErrStoreUnavailable) || !strings.HasSuffix(err.Error(), "set Config.Expect (--expect-processes)") {
			t.Errorf("started in the outage: %v", err)
		}
		expecting := s.start(t, 1, fallback.Config{Expect: 5})
		defer end(t, expecting)
		if d, err := expecting[0].Limiter.PolicyOf("p", limit).Allow(t.Context(), "k"); err != nil || d.Limit != 2 {
			t.Errorf("started in the outage, of five: %+v, %v; want a burst of 2", d, err)
		}
		if d, err := expecting[0].Limiter.PolicyOf("p", limit).AllowN(t.Context(), "k", 10); err != nil || d.RetryAfter != time.Second {
			t.Errorf("a cost above the share: %+v, %v; want to try again in 1 s", d, err)
		}
		if d, err := expecting[0].Limiter.PolicyOf("p", limit).AllowN(t.Context(), "k", 11); err != nil || d.RetryAfter != headgate.Never {
			t.Errorf("a cost above the limit: %+v, %v; want never", d, err)
		}
	})
}

// Permits granted in an outage are a share of the limit, less those that the store granted to the process. The process
// renews and releases them locally, even after the store is back and grants its own permits.
func TestPermitsOfAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 2, fallback.Config{})
		defer end(t, all)
		p := all[0].Limiter.SemaphoreOf("p", rule.Concurrency(6, rule.LeaseTime(10*time.Second)))
		single := all[0].Limiter.SemaphoreOf("q", rule.Concurrency(1))
		acquire := func(mode engine.Mode, want bool) *headgate.Permit {
			t.Helper()
			permit, d, err := p.TryAcquire(t.Context(), "k", 1)
			if err != nil || d.Allowed != want || d.Promise.Mode != mode {
				t.Fatalf("%+v, %v; want %t, %s", d, err, want, mode)
			}
			return permit
		}
		before := acquire(engine.Exact, true)
		s.set(headgate.ErrStoreUnavailable, false)
		first, second := acquire(engine.Fallback, true), acquire(engine.Fallback, true)
		acquire(engine.Fallback, false)
		if _, d, err := single.TryAcquire(t.Context(), "k", 1); err != nil || !d.Allowed || d.Limit != 1 {
			t.Errorf("a share below one unit: %+v, %v", d, err)
		}
		if err := before.Renew(t.Context()); !errors.Is(err, headgate.ErrStoreUnavailable) {
			t.Errorf("renew a permit of the store: %v", err)
		}
		time.Sleep(6 * time.Second)
		if err := first.Renew(t.Context()); err != nil {
			t.Error(err)
		}
		s.set(nil, false)
		time.Sleep(6 * time.Second) // the second permit has expired, and so has the store's
		if err := first.Renew(t.Context()); err != nil {
			t.Errorf("renew when the store is back: %v", err)
		}
		if err := second.Renew(t.Context()); !errors.Is(err, headgate.ErrEnded) {
			t.Errorf("renew a permit that has ended: %v", err)
		}
		acquire(engine.Exact, true)
		if err := first.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// If a store answers only now and then, each share starts with only the units that were left, so that the gaps do not
// add whole shares.
func TestGapsDoNotAccumulate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 2, fallback.Config{})
		defer end(t, all)
		limit := rule.FixedWindow(rule.PerHour(100))
		passed := int64(0)
		for i := range 2000 {
			s.set(nil, false)
			if i%2 == 1 {
				s.set(headgate.ErrStoreUnavailable, false)
			}
			d, err := all[i/2%2].Limiter.PolicyOf("p", limit).Allow(t.Context(), "k")
			if err != nil {
				t.Fatal(err)
			}
			if d.Allowed {
				passed++
			}
		}
		if passed > 200 {
			t.Errorf("%d units of 100 passed; want at most as many again", passed)
		}
		if all[0].store.Stats().Outages != 0 {
			t.Error("single failures began an outage")
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	s := newServer(t)
	for field, c := range map[string]fallback.Config{
		"expect": {Expect: -1}, "slow": {Slow: time.Minute}, "max_keys": {MaxKeys: 1},
	} {
		var bad *engine.InputError
		if _, err := fallback.New(s, join(t, s, nil), c); !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%+v: %v, want an InputError about %s", c, err, field)
		}
	}
}
