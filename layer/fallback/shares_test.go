package fallback_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/memstore"
)

// A share is whole if the store has answered its process. The share of a process that starts during the outage is empty,
// and refills, so that restarts do not grant units twice (regression: bug 63; with hourly restarts, a limit of 1000 a day
// let 25 960 units a day pass) (regression: bug 149).
func TestSharesAreWholeOnceHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		limit := rule.FixedWindow(rule.PerHour(1000))
		all := s.start(t, 2, fallback.Config{Expect: 2})
		s.set(headgate.ErrStoreUnavailable, false)
		passed, last := allow(t, all, "k", limit)
		if passed != 1000 || last.Promise.Mode != engine.Fallback || last.Promise.OvershootMax != 2000 {
			t.Fatalf("%d passed at once, %+v; want all units of the shares", passed, last.Promise)
		}
		if last.RetryAfter < 2500*time.Millisecond || last.RetryAfter > 5*time.Second {
			t.Errorf("a denial by a share says %s, want 2.5 to 5 s", last.RetryAfter)
		}
		passed = 0
		began := time.Now()
		for range 24 {
			end(t, all)
			all = s.start(t, 2, fallback.Config{Expect: 2})
			time.Sleep(150 * time.Second)
			n, _ := allow(t, all, "k", limit)
			passed += n
		}
		refilled := int64(1000 * time.Since(began) / time.Hour)
		end(t, all)
		if passed > refilled*105/100 || passed < refilled*90/100 {
			t.Errorf("%d units passed while restarts followed one another, and %d refilled", passed, refilled)
		}
	})
}

// A limit below the number of processes admits one unit in each of them, and says so (regression: bug 150).
func TestNoShareIsBelowOneUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 8, fallback.Config{})
		defer end(t, all)
		s.set(headgate.ErrStoreUnavailable, false)
		passed, last := allow(t, all, "k", rule.SlidingLog(rule.Per(5, 15*time.Minute)))
		if passed != 8 || last.Promise.OvershootMax != 16 || last.Limit != 1 {
			t.Errorf("%d passed, %+v", passed, last)
		}
	})
}

// The wait of a denial that the store itself had stated stays, although a share's is at most 5 s (regression: bug 151).
func TestDenialOfTheStoreOutlivesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 1, fallback.Config{})
		defer end(t, all)
		limit := rule.FixedWindow(rule.PerHour(10))
		if passed, last := allow(t, all, "k", limit); passed != 10 || last.RetryAfter != time.Hour {
			t.Fatalf("%d, %+v", passed, last)
		}
		s.set(headgate.ErrStoreUnavailable, false)
		if passed, last := allow(t, all, "k", limit); passed != 0 || last.RetryAfter < 59*time.Minute || last.RetryAfter > time.Hour+time.Second {
			t.Errorf("%d, %+v; want the store's wait", passed, last)
		}
		if passed, last := allow(t, all, "other", limit); passed != 10 || last.RetryAfter > 5*time.Second {
			t.Errorf("%d, %+v; want the share's wait", passed, last)
		}
	})
}

// The number of processes counts once it has not changed for a minute of contact. Before, it is the largest since it was
// stable, or the expected number (regression: bug 155).
func TestProcessesCountAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 4, fallback.Config{Expect: 8})
		limit := rule.FixedWindow(rule.PerMinute(40))
		share := func(key string, want int64) {
			t.Helper()
			s.set(headgate.ErrStoreUnavailable, false)
			if passed, _ := allow(t, all[:1], key, limit); passed != want {
				t.Errorf("%s: %d units of 40 passed in an outage, want %d", key, passed, want)
			}
			s.set(nil, false)
		}
		share("four for a minute", 10)
		end(t, all[1:])
		defer end(t, all[:1])
		time.Sleep(30 * time.Second)
		share("one for half a minute", 5)
		time.Sleep(time.Minute)
		share("one for a minute", 40)
	})
}

// In an outage, every window of a limit has its own share and bound (regression: bug 56: a limit of 50/1h and 5/3s let
// 90 pass in an hour and stated a bound of 5).
func TestEveryWindowHasItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 2, fallback.Config{})
		defer end(t, all)
		limit := rule.SlidingLog(rule.Per(5, 3*time.Second), rule.And(rule.PerHour(50)))
		for i := range 45 {
			if d, err := all[i%2].Limiter.PolicyOf("p", limit).Allow(t.Context(), "k"); err != nil || !d.Allowed {
				t.Fatal(i, d, err)
			}
			time.Sleep(time.Second)
		}
		for _, p := range all {
			if _, err := p.Limiter.PolicyOf("p", limit).Peek(t.Context(), "k", 1); err != nil {
				t.Fatal(err)
			}
		}
		s.set(headgate.ErrStoreUnavailable, false)
		passed := int64(0)
		for range 69 {
			n, last := allow(t, all, "k", limit)
			passed += n
			if last.Promise.OvershootMax != 100 {
				t.Fatalf("%+v", last.Promise)
			}
			time.Sleep(time.Second)
		}
		// The last answers were about the window of 3 s, so the remaining units of the hour are unknown.
		if passed > 50+1 || passed < 5 {
			t.Errorf("%d units passed in 69 s; the shares of the hour have 50", passed)
		}
	})
}

// A share begins with what was left once. What refills afterwards is its own.
func TestShareBeginsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 2, fallback.Config{})
		defer end(t, all)
		limit := rule.FixedWindow(rule.PerHour(1000))
		for _, p := range all {
			take(t, p.store, limit, 450, true)
		}
		s.set(headgate.ErrStoreUnavailable, false)
		take(t, all[0].store, limit, 275, true) // half of the 550 that it knows of
		take(t, all[0].store, limit, 1, false)
		time.Sleep(45 * time.Minute)
		take(t, all[0].store, limit, 370, true)
	})
}

// A share ignores NextPays and debt: a cost above the share is denied, and may be retried (regression: bug 56: 400 000
// units passed where only 100 000 pass without an outage).
func TestSharesDoNotLend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 2, fallback.Config{})
		defer end(t, all)
		s.set(headgate.ErrStoreUnavailable, false)
		for name, limit := range map[string]engine.Limit{
			"next": rule.TokenBucket(rule.PerSecond(10), rule.NextPays()),
			"debt": rule.TokenBucket(rule.PerSecond(10), rule.AllowDebt(1000)),
		} {
			d, err := all[0].Limiter.PolicyOf(name, limit).AllowN(t.Context(), name, 100)
			if err != nil || d.Allowed || d.RetryAfter != time.Second {
				t.Errorf("%s: %+v, %v", name, d, err)
			}
			if passed, last := allow(t, all, name, limit); passed != 10 || last.Limit != 5 {
				t.Errorf("%s: %d units passed at once, %+v", name, passed, last)
			}
		}
	})
}

// A process that the store has never answered grants no permit until a lease time has passed since its start, because
// permits granted by an earlier process may still be held.
func TestPermitsWaitForALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		for _, away := range []bool{false, true} {
			if away {
				s.set(headgate.ErrStoreUnavailable, false)
			}
			all := s.start(t, 1, fallback.Config{Expect: 1})
			s.set(headgate.ErrStoreUnavailable, false)
			p := all[0].Limiter.SemaphoreOf("p", rule.Concurrency(4, rule.LeaseTime(65*time.Second)))
			if _, d, err := p.TryAcquire(t.Context(), "k", 1); err != nil || d.Allowed == away || away && d.RetryAfter != 3*time.Second {
				t.Errorf("away at the start %t, 62 s after it: %+v, %v", away, d, err)
			}
			time.Sleep(3 * time.Second)
			if _, d, err := p.TryAcquire(t.Context(), "k", 1); err != nil || !d.Allowed {
				t.Errorf("a lease length after the start: %+v, %v", d, err)
			}
			end(t, all)
		}
	})
}

// TestOnePolicyCannotFillTheSharesOfAnother checks that made-up keys of one policy leave room for the keys of another
// while the store is unavailable, if the process has the policy before the outage (regression: bug 196).
func TestOnePolicyCannotFillTheSharesOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 1, fallback.Config{Memory: memstore.Config{MaxKeys: 64}})
		defer end(t, all)
		flooded := all[0].Limiter.PolicyOf("flooded", rule.FixedWindow(rule.PerHour(1)))
		other := all[0].Limiter.PolicyOf("other", rule.FixedWindow(rule.PerHour(1)), rule.TokenBucket(rule.PerHour(1)))
		s.set(headgate.ErrStoreUnavailable, false)
		ask := func(p *headgate.Policy, key string) headgate.Decision {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			d, err := p.Allow(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		for key := range 500 {
			ask(flooded, strconv.Itoa(key))
		}
		if d := ask(other, "new"); !d.Allowed {
			t.Errorf("a new key of another policy: %+v", d)
		}
	})
}

// When the memory store for shares is full, new keys are denied, and no existing key is dropped.
func TestFullMemoryOfSharesDenies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 1, fallback.Config{Memory: memstore.Config{MaxKeys: 64}})
		defer end(t, all)
		s.set(headgate.ErrStoreUnavailable, false)
		p := all[0].Limiter.PolicyOf("p", rule.FixedWindow(rule.PerHour(1)))
		passed := 0
		for range 3 {
			for key := range 500 {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				d, err := p.Allow(ctx, string(rune('a'+key)))
				cancel()
				if err != nil || d.Promise.Mode != engine.Fallback {
					t.Fatal(d, err)
				}
				if d.Allowed {
					passed++
				}
			}
		}
		if passed > 64 || passed == 0 {
			t.Errorf("%d keys of a memory of 64 passed", passed)
		}
	})
}
