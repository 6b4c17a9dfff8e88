package fallback_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/fallback"
)

// take asks a process for units of the key "k" and checks whether it gets them.
func take(t *testing.T, store engine.Store, limit engine.Limit, units int64, want bool) *engine.Answer {
	t.Helper()
	op := engine.Single(engine.OpAllow, "k", limit, units)
	r := do(t, store, op)
	if r.Err != nil || r.Allowed != want {
		t.Fatalf("%d units: %+v; want %t", units, r, want)
	}
	return r
}

// After a loss, the store decides keys that nobody remembers, and the answers are a fallback until the window of the loss
// ends (regression: bug 152).
func TestFreshKeysAreTheStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t) // at midnight of 2000-01-01
		all := twoAfterALoss(t, s)
		limit := rule.FixedWindow(rule.PerHour(1000), rule.Align("clock"))
		r := take(t, all[0], limit, 1000, true)
		if r.Promise != (engine.Promise{Mode: engine.Fallback, OvershootMax: 1000}) {
			t.Errorf("%+v", r.Promise)
		}
		take(t, all[1], limit, 1, false)
		time.Sleep(time.Hour - time.Duration(time.Now().UnixNano())%time.Hour)
		if r := take(t, all[1], limit, 1000, true); r.Promise.Mode != engine.Exact {
			t.Errorf("in the next window: %+v", r.Promise)
		}
	})
}

// The memory gets back what the store denies (regression: bug 153), and reports what it has left.
func TestStoreDeniesInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		limit := rule.FixedWindow(rule.PerDay(40))
		all := twoAfterALoss(t, s, engine.Single(engine.OpAllow, "k", limit, 30))
		take(t, s, limit, 40, true)
		for range 3 {
			take(t, all[0], limit, 5, false)
		}
		reset := engine.Single(engine.OpReset, "k", limit, 0)
		do(t, s, reset)
		if r := take(t, all[0], limit, 4, true); r.Binds().Remaining != 6 || r.Binds().ResetAfter == 0 {
			t.Errorf("%+v; want 6 of the 10 that were left before the loss", r)
		}
		most := engine.Single(engine.OpAtMost, "k", limit, 6)
		take(t, s, limit, 34, true) // the store has 2 left
		if r := do(t, all[0], most); r.Granted != 2 {
			t.Errorf("%+v; want the 2 of the store", r)
		}
		do(t, s, reset)
		if r := do(t, all[0], most); r.Granted != 4 {
			t.Errorf("%+v; want the 4 that were not charged", r)
		}
	})
}

// A give or a reset makes a process forget what it remembers: after a loss, and for the shares of an outage.
func TestResetsAreForgotten(t *testing.T) {
	for _, kind := range []engine.Kind{engine.OpGive, engine.OpReset} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			limit := rule.FixedWindow(rule.PerDay(40))
			all := twoAfterALoss(t, s, engine.Single(engine.OpAllow, "k", limit, 40))
			take(t, all[0], limit, 1, false)
			if r := do(t, all[0], engine.Single(kind, "k", limit, 5)); r.Err != nil {
				t.Fatal(r.Err)
			}
			take(t, all[0], limit, 1, true)
			take(t, all[1], limit, 1, false) // heard of neither
		})
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			limit := rule.FixedWindow(rule.PerDay(40))
			all := s.start(t, 2, fallback.Config{})
			defer end(t, all)
			take(t, all[0].store, limit, 40, true)
			take(t, all[0].store, limit, 1, false)
			if r := do(t, all[0].store, engine.Single(kind, "k", limit, 40)); r.Err != nil {
				t.Fatal(r.Err)
			}
			s.set(headgate.ErrStoreUnavailable, false)
			take(t, all[0].store, limit, 20, true)
			if r := take(t, all[0].store, limit, 1, false); r.Binds().RetryAfter > 5*time.Second {
				t.Errorf("the store's denial is still remembered: %+v", r)
			}
		})
	}
}

// A reserve of a remembered key is denied where the store would delay it, because the delay would depend on charges that
// it has lost.
func TestRememberedReserveIsNotDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		limit := rule.TokenBucket(rule.PerHour(60))
		all := twoAfterALoss(t, s, engine.Single(engine.OpAllow, "k", limit, 30))
		take(t, s, limit, 60, true)
		reserve := engine.Single(engine.OpReserve, "k", limit, 1)
		reserve.ID, reserve.Ahead = "id", time.Hour
		if r := do(t, all[0], reserve); r.Err != nil || r.Allowed || r.Binds().RetryAfter < 59*time.Second {
			t.Errorf("%+v", r)
		}
	})
}

// A pacer's caller waits as long as the memory or the store says, whichever is longer.
func TestQueueIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		limit := rule.Pacer(rule.PerHour(60), rule.MaxQueue(10))
		all := twoAfterALoss(t, s, engine.Single(engine.OpAllow, "k", limit, 1))
		if r := take(t, all[0], limit, 1, true); r.Delay < 50*time.Second {
			t.Errorf("%s behind a unit that the store forgot; want about a minute", r.Delay)
		}
	})
}

// The bound is half as much again while more processes are expected than there are.
func TestBoundOfExpectedProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 2, fallback.Config{Expect: 8})
		defer end(t, all)
		s.set(headgate.ErrStoreUnavailable, false)
		passed, last := allow(t, all, "k", rule.FixedWindow(rule.PerDay(1001)))
		if passed != 1000 || last.Promise.OvershootMax != 2002+1001 {
			t.Errorf("%d of 1001 passed, %+v", passed, last.Promise)
		}
	})
}

// Shares use the store's time as last heard, so that a loss ends with the store's window (regression: bug 175).
func TestSharesUseTheStoresTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.skip = time.Hour
		store, err := fallback.New(s, join(t, s, time.Now), fallback.Config{Expect: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		time.Sleep(time.Second)
		s.set(headgate.ErrStoreUnavailable, false)
		if r := take(t, store, rule.FixedWindow(rule.PerDay(10)), 1, true); r.Promise.Mode != engine.Fallback || r.AtMicros != s.clock().UnixMicro() {
			t.Errorf("at %d, the store's time is %d", r.AtMicros, s.clock().UnixMicro())
		}
	})
}

// While one limit recovers from a loss, the keys of another are remembered for the next outage.
func TestRecoveredLimitsAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := twoAfterALoss(t, s)
		limit := rule.FixedWindow(rule.PerMinute(40))
		time.Sleep(time.Minute)
		take(t, all[0], rule.FixedWindow(rule.PerDay(1)), 1, true)
		if r := take(t, all[0], limit, 40, true); r.Promise.Mode != engine.Exact {
			t.Fatalf("%+v", r)
		}
		s.set(headgate.ErrStoreUnavailable, false)
		take(t, all[0], limit, 1, false)
	})
}
