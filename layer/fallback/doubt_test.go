package fallback_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/fallback"
)

// do runs one operation on a store and returns its result.
func do(t *testing.T, store engine.Store, op engine.Op) *engine.Answer {
	t.Helper()
	if op.Space = "s"; op.Check() != nil {
		t.Fatal(op.Check())
	}
	results := make([]engine.Answer, 1)
	store.Do(t.Context(), []engine.Op{op}, results)
	return &results[0]
}

// twoAfterALoss starts two processes. All units of the limits are spent when the store loses its data.
func twoAfterALoss(t *testing.T, s *server, ops ...engine.Op) []*fallback.Store {
	t.Helper()
	var all []*fallback.Store
	for range 2 {
		store, err := fallback.New(s, join(t, s, s.clock), fallback.Config{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, store)
		t.Cleanup(func() { _ = store.Close() })
	}
	time.Sleep(62 * time.Second)
	for _, op := range ops {
		if r := do(t, all[0], op); r.Err != nil || !r.Allowed {
			t.Fatalf("%+v", r)
		}
		op.Kind = engine.OpPeek
		for _, store := range all { // both processes then know that no units are left
			do(t, store, op)
		}
	}
	s.lose(t)
	time.Sleep(2 * time.Second)
	return all
}

// After a loss of data, no operation trusts the empty store, whatever the failure mode (regression: bug 57: 40 of 40
// were reserved a second time, and with failure mode deny all passed).
func TestEveryVerbIsDoubted(t *testing.T) {
	limit := rule.FixedWindow(rule.PerHour(40))
	for _, local := range []bool{true, false} {
		for _, kind := range []engine.Kind{engine.OpAllow, engine.OpAtMost, engine.OpCount, engine.OpReserve, engine.OpPeek} {
			t.Run(kind.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newServer(t)
					all := twoAfterALoss(t, s, engine.Single(engine.OpAllow, "k", limit, 40))
					op := engine.Single(kind, "k", limit, 1)
					op.Hints.NoShare = !local
					if r := do(t, all[0], op); r.Err != nil || r.Allowed || r.Promise.Mode != engine.Fallback || r.Promise.OvershootMax != 40 {
						t.Errorf("local %t: %+v", local, r)
					}
				})
			})
		}
	}
}

// While the store is in doubt, it decides a reserve of a key that nobody remembers. Another key is held to its units, so
// a reserve with a delay is denied.
func TestReserveInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		limit := rule.Pacer(rule.PerHour(60), rule.MaxQueue(10))
		all := twoAfterALoss(t, s, engine.Single(engine.OpAllow, "k", limit, 1))
		op := engine.Single(engine.OpReserve, "k", limit, 1)
		op.Ahead = time.Hour
		if r := do(t, all[0], op); r.Err != nil || r.Allowed || r.Binds().RetryAfter < 50*time.Second {
			t.Errorf("a reserve behind one that the store forgot: %+v", r)
		}
		op.Key = "other"
		first := do(t, all[0], op)
		if first.Err != nil || !first.Allowed || first.Promise.Mode != engine.Fallback || first.Promise.OvershootMax != 12 {
			t.Fatalf("%+v", first)
		}
		if second := do(t, all[1], op); second.Err != nil || !second.Allowed || second.Delay != time.Minute {
			t.Errorf("a reserve behind another one: %+v", second)
		}
		settle := first.Reservation(&op, "id").Settle(0)
		if r := do(t, all[1], settle); r.Err != nil || !r.Found {
			t.Errorf("the store does not know the reservation: %+v", r)
		}
	})
}

// After a loss of data, the processes grant no more permits than their shares have, although the store is empty. A
// permit that was released can be granted again.
func TestAcquireInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		limit := rule.Concurrency(4, rule.LeaseTime(time.Minute))
		all := twoAfterALoss(t, s)
		acquire := func(store engine.Store, id string) *engine.Answer {
			op := engine.Single(engine.OpAcquire, "k", limit, 1)
			op.ID = id
			return do(t, store, op)
		}
		granted := 0
		for i := range 8 {
			r := acquire(all[i%2], string(rune('a'+i)))
			if r.Err != nil || r.Promise.Mode != engine.Fallback {
				t.Fatalf("%+v", r)
			}
			if r.Allowed {
				granted++
			}
		}
		if granted != 4 {
			t.Errorf("%d permits of two shares of 2", granted)
		}
		release := engine.Single(engine.OpRelease, "k", limit, 1)
		release.ID = "a"
		if r := do(t, all[0], release); r.Err != nil || !r.Found {
			t.Errorf("release: %+v", r)
		}
		if r := acquire(all[0], "i"); !r.Allowed {
			t.Errorf("a permit that was released in the share and in the store: %+v", r)
		}
	})
}

// A limit that has recovered does not wait for the other limits of the request.
func TestStoreDecidesARecoveredLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := twoAfterALoss(t, s)
		short, long := rule.FixedWindow(rule.PerSecond(10), rule.Named("short")), rule.FixedWindow(rule.PerDay(1000), rule.Named("long"))
		op := engine.Op{Kind: engine.OpAllow, Key: "k", Charges: []engine.Charge{{Limit: short, Cost: 8}, {Limit: long, Cost: 8}}}
		if r := do(t, all[0], op); r.Err != nil || !r.Allowed { // its share of the short limit is 5
			t.Errorf("%+v", r)
		}
	})
}

// A process that starts after a loss learns about it from the store, until an operator accepts the loss.
func TestLossOutlivesProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		twoAfterALoss(t, s)
		late, err := fallback.New(s, join(t, s, s.clock), fallback.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer late.Close()
		if err := late.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		op := engine.Single(engine.OpAllow, "k", rule.FixedWindow(rule.PerHour(40)), 1)
		if r := do(t, late, op); r.Promise.Mode != engine.Fallback {
			t.Errorf("a process that started after the loss: %+v", r)
		}
		if lost, err := late.AcceptLoss(t.Context()); err != nil || !lost {
			t.Fatal(lost, err)
		}
		if r := do(t, late, op); r.Err != nil || !r.Allowed || r.Promise.Mode != engine.Exact {
			t.Errorf("after the loss was accepted: %+v", r)
		}
	})
}

// A store that comes back with older data is not trusted either, because the markers are counters. The same holds if
// another process has recreated a marker and incremented it further.
func TestOlderDataIsDoubted(t *testing.T) {
	for _, remade := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			limit := rule.FixedWindow(rule.PerHour(40))
			all := s.start(t, 2, fallback.Config{})
			defer end(t, all)
			backup := s.backup(t)
			time.Sleep(5 * time.Second)
			if passed, _ := allow(t, all, "k", limit); passed != 40 {
				t.Fatal(passed)
			}
			if remade {
				for name := range backup {
					backup[name] = "other 1000000"
				}
			}
			s.older(t, backup)
			time.Sleep(2 * time.Second)
			if passed, last := allow(t, all, "k", limit); passed != 0 || last.Promise.Mode != engine.Fallback {
				t.Errorf("remade %t: %d units passed again: %+v", remade, passed, last.Promise)
			}
		})
	}
}

// If the share grants a permit but the store denies it, the permit is returned to the share.
func TestDeniedPermitLeavesTheShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		limit := rule.Concurrency(4, rule.LeaseTime(time.Minute))
		all := twoAfterALoss(t, s)
		hold := func(store engine.Store, kind engine.Kind, id string, cost int64) bool {
			op := engine.Single(kind, "k", limit, cost)
			op.ID = id
			r := do(t, store, op)
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			return r.Allowed
		}
		hold(s, engine.OpAcquire, "elsewhere", 4)
		for i := range 3 {
			if hold(all[0], engine.OpAcquire, string(rune('a'+i)), 1) {
				t.Fatal("a permit beside four of four")
			}
		}
		hold(s, engine.OpRelease, "elsewhere", 4)
		if !hold(all[0], engine.OpAcquire, "x", 1) || !hold(all[0], engine.OpAcquire, "y", 1) {
			t.Error("the share of 2 is held by permits that were denied")
		}
	})
}
