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

// reserve reserves units for a key without accepting a delay. It returns the operation and its result.
func reserve(t *testing.T, store engine.Store, limit engine.Limit, units int64) (op engine.Op, r *engine.Answer) {
	t.Helper()
	op = engine.Single(engine.OpReserve, "k", limit, units)
	op.Space = "s"
	return op, do(t, store, op)
}

// In an outage, the share decides a reserve. The process whose share granted the reservation settles it in the share,
// and only once (regression: bug 57: the reserve was an error).
func TestReserveInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 2, fallback.Config{})
		defer end(t, all)
		limit := rule.SlidingWindow(rule.PerHour(40), rule.Strict())
		s.set(headgate.ErrStoreUnavailable, false)
		op, r := reserve(t, all[0].store, limit, 12)
		if r.Err != nil || !r.Allowed || r.Promise != (engine.Promise{Mode: engine.Fallback, OvershootMax: 80}) || r.Binds().Remaining != 8 {
			t.Fatalf("%+v", r)
		}
		held, err := engine.ParseReservation(r.Reservation(&op, "id").String())
		if err != nil {
			t.Fatal(err)
		}
		if r := do(t, all[1].store, held.Settle(0)); r.Err != nil || r.Found {
			t.Errorf("another process settled it: %+v", r)
		}
		for i, want := range []bool{true, false} {
			if r := do(t, all[0].store, held.Settle(2)); r.Err != nil || r.Found != want || r.Promise.Mode != engine.Fallback {
				t.Errorf("settlement %d: %+v", i, r)
			}
		}
		if _, r := reserve(t, all[0].store, limit, 18); r.Err != nil || !r.Allowed {
			t.Errorf("what was given back: %+v", r)
		}
		if _, r := reserve(t, all[0].store, limit, 1); r.Err != nil || r.Allowed || r.Binds().RetryAfter <= 0 {
			t.Errorf("more than the share: %+v", r)
		}
		s.set(nil, false)
		if left := s.left(t, limit); left != 40 {
			t.Errorf("%d units are left in the store, which was never asked; want 40", left)
		}
	})
}

// While the store is in doubt, a settlement settles both the store's charge and the memory's (regression: bug 57).
func TestSettlementInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		limit := rule.TokenBucket(rule.PerDay(40))
		all := twoAfterALoss(t, s, engine.Single(engine.OpAllow, "k", limit, 20))
		op, r := reserve(t, all[0], limit, 20)
		if r.Err != nil || !r.Allowed || r.Promise.Mode != engine.Fallback {
			t.Fatalf("%+v", r)
		}
		if _, r := reserve(t, all[0], limit, 1); r.Allowed {
			t.Fatal("more than was left before the loss")
		}
		held := r.Reservation(&op, "id")
		if r := do(t, all[0], held.Settle(5)); r.Err != nil || !r.Found {
			t.Fatalf("%+v", r)
		}
		if left := s.left(t, limit); left != 35 {
			t.Errorf("%d units are left in the store; want 35", left)
		}
		if _, r := reserve(t, all[0], limit, 15); r.Err != nil || !r.Allowed {
			t.Errorf("what the memory got back: %+v", r)
		}
	})
}

// A reservation that was made while the store was in doubt gives back to the store what the store had charged. The memory
// has less units, so its charge refills later (regression: bug 190: 12 of 10 units passed at once).
func TestSettlementAfterDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		limit := rule.TokenBucket(rule.PerMinute(20), rule.Burst(10))
		all := twoAfterALoss(t, s, engine.Single(engine.OpAllow, "k", limit, 10))
		time.Sleep(24 * time.Second) // the memory has 8 units, and the store has 10
		op, r := reserve(t, all[0], limit, 8)
		if r.Err != nil || !r.Allowed || r.Promise.Mode != engine.Fallback {
			t.Fatalf("%+v", r)
		}
		time.Sleep(24 * time.Second)
		passed := int64(0)
		take := func() {
			op := engine.Single(engine.OpAtMost, "k", limit, 10)
			r := do(t, all[0], op)
			if r.Err != nil || r.Promise.Mode != engine.Exact {
				t.Fatalf("%+v; want the store's answer", r)
			}
			passed += r.Granted
		}
		take()
		if r := do(t, all[0], r.Reservation(&op, "id").Settle(0)); r.Err != nil || !r.Found {
			t.Fatalf("%+v", r)
		}
		if take(); passed != 10 {
			t.Errorf("%d units passed at once; the limit is 10", passed)
		}
	})
}

// A settlement that the store missed is sent again once the store answers. It counts as lost if the store does not
// answer before the reservation ends (regression: bug 57).
func TestSettlementIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 1, fallback.Config{})
		defer end(t, all)
		limit := rule.FixedWindow(rule.PerHour(40))
		settleAway := func(id string) {
			t.Helper()
			s.set(nil, false)
			time.Sleep(5 * time.Second)
			op, r := reserve(t, all[0].store, limit, 10)
			if r.Err != nil || !r.Allowed || r.Promise.Mode != engine.Exact {
				t.Fatalf("%+v", r)
			}
			s.set(headgate.ErrStoreUnavailable, false)
			if r := do(t, all[0].store, r.Reservation(&op, id).Settle(0)); r.Err != nil || !r.Found || r.Promise.Mode != engine.Fallback {
				t.Fatalf("a settlement in an outage: %+v", r)
			}
			if stats := all[0].store.Stats(); stats.Owed != 1 {
				t.Errorf("%+v; want one settlement that is kept", stats)
			}
		}
		settleAway("first")
		time.Sleep(time.Minute)
		s.set(nil, false)
		time.Sleep(10 * time.Second)
		if left, stats := s.left(t, limit), all[0].store.Stats(); left != 40 || stats.Owed != 0 {
			t.Errorf("%d units are left in the store; want 40: %+v", left, stats)
		}
		settleAway("second")
		s.pass(2 * time.Hour)
		if stats := all[0].store.Stats(); stats.Owed != 0 || stats.Unsettled != 1 {
			t.Errorf("%+v; want one settlement that is lost", stats)
		}
	})
}

// Of several settlements in an outage the first counts, as in the store: a Cancel that is deferred before a Commit gives
// nothing back (regression: bug 244: the last one counted, so a program that used 4 units paid for none).
func TestFirstSettlementIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 1, fallback.Config{})
		defer end(t, all)
		limit := rule.FixedWindow(rule.PerHour(40))
		op, r := reserve(t, all[0].store, limit, 10)
		if r.Err != nil || !r.Allowed || r.Promise.Mode != engine.Exact {
			t.Fatalf("%+v", r)
		}
		held := r.Reservation(&op, "id")
		s.set(headgate.ErrStoreUnavailable, false)
		for i, used := range []int64{4, 0, 9} {
			if r := do(t, all[0].store, held.Settle(used)); r.Err != nil || r.Found != (i == 0) {
				t.Errorf("settlement %d: %+v", i, r)
			}
		}
		s.set(nil, false)
		if r := do(t, all[0].store, held.Settle(0)); r.Err != nil || r.Found {
			t.Errorf("after the outage: %+v", r)
		}
		time.Sleep(10 * time.Second)
		if left, stats := s.left(t, limit), all[0].store.Stats(); left != 36 || stats.Owed != 0 {
			t.Errorf("%d units are left in the store; want 36: %+v", left, stats)
		}
	})
}
