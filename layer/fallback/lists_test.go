package fallback_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/fallback"
)

var (
	listTokens = rule.SlidingLog(rule.PerMinute(40), rule.And(rule.PerHour(400)))
	listPermit = rule.Concurrency(4)
)

// call reserves a user's tokens and an organisation's permit.
func call(t *testing.T, store engine.Store, id string, tokens int64) (op engine.Op, r engine.Answer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	op = engine.Op{Kind: engine.OpReserve, Space: "s", Key: "k", ID: id, Charges: []engine.Charge{
		{Limit: listTokens, Cost: tokens}, {Limit: listPermit, Cost: 1, Key: "org"},
	}}
	results := make([]engine.Answer, 1)
	store.Do(ctx, []engine.Op{op}, results)
	return op, results[0]
}

// held returns the number of the organisation's permits that the store counts as held.
func (s *server) held(t *testing.T) int64 {
	t.Helper()
	op := engine.Single(engine.OpPeek, "org", listPermit, 0)
	op.Space = "s"
	return 4 - do(t, s.now, op).Binds().Remaining
}

// In an outage, the shares decide a list with a permit, and settle it with the used units of each charge. The store
// gets the permit as soon as it answers, and the settlement releases it.
func TestListInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 2, fallback.Config{})
		defer end(t, all)
		s.set(headgate.ErrStoreUnavailable, false)
		op, r := call(t, all[0].store, "first", 20)
		if r.Err != nil || !r.Allowed || r.Promise.Mode != engine.Fallback {
			t.Fatalf("%+v", r)
		}
		held, err := engine.ParseReservation(r.Reservation(&op, "first").String())
		if err != nil {
			t.Fatal(err)
		}
		if _, r := call(t, all[0].store, "second", 1); r.Err != nil || r.Allowed || r.Binding != 0 {
			t.Fatalf("20 of the share's 20 are spent: %+v", r)
		}
		s.set(nil, false)
		time.Sleep(time.Second)
		if n := s.held(t); n != 1 {
			t.Errorf("the store has %d permits, want that of the share", n)
		}
		s.set(headgate.ErrStoreUnavailable, false)
		time.Sleep(time.Second)
		settle := held.SettleEach(func(charge int) int64 { return []int64{5, 1}[charge] })
		for i, want := range []bool{true, false} {
			if r := do(t, all[0].store, settle); r.Err != nil || r.Found != want {
				t.Errorf("settlement %d: %+v", i, r)
			}
		}
		if _, r := call(t, all[0].store, "third", 15); r.Err != nil || !r.Allowed {
			t.Errorf("15 came back: %+v", r)
		}
		s.set(nil, false)
		time.Sleep(10 * time.Second)
		if n := s.held(t); n != 1 {
			t.Errorf("the store has %d permits, want that of the third call", n)
		}
	})
}

// If the answer to a list does not arrive, the list's permit is released.
func TestListWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 1, fallback.Config{})
		defer end(t, all)
		s.answer(false)
		if _, r := call(t, all[0].store, "late", 50); r.Allowed {
			t.Fatalf("%+v", r)
		}
		s.answer(true)
		time.Sleep(10 * time.Second)
		if n := s.held(t); n != 0 {
			t.Errorf("the store has %d permits of a caller that has no answer", n)
		}
	})
}

// While the store is in doubt, a settlement applies each charge's actual use in the store and in the memory.
func TestListInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		org := rule.SlidingLog(rule.PerDay(80))
		op := engine.Op{Kind: engine.OpReserve, Space: "s", Key: "k", Charges: []engine.Charge{
			{Limit: rule.TokenBucket(rule.PerHour(40)), Cost: 1},
			{Limit: org, Cost: 40, Key: "org"},
		}}
		spent := op
		spent.Kind, spent.Charges = engine.OpAllow, slices.Clone(op.Charges)
		all := twoAfterALoss(t, s, spent)
		op.Charges[1].Cost = 30
		r := do(t, all[0], op)
		if r.Err != nil || !r.Allowed || r.Promise.Mode != engine.Fallback {
			t.Fatalf("%+v", r)
		}
		held := r.Reservation(&op, "id")
		if r := do(t, all[0], held.SettleEach(func(item int) int64 { return []int64{1, 10}[item] })); r.Err != nil || !r.Found {
			t.Fatalf("%+v", r)
		}
		op.Charges[1].Cost = 31
		if r := do(t, all[0], op); r.Err != nil || r.Allowed || r.Binding != 1 {
			t.Errorf("30 of the remembered 40 are left: %+v", r)
		}
		op.Charges[1].Cost = 30
		if r := do(t, all[0], op); r.Err != nil || !r.Allowed {
			t.Errorf("30 of the remembered 40 are left: %+v", r)
		}
	})
}

// If the store is in doubt and does not answer, the share decides a list of charges. The store gets the list's permit
// as soon as it answers again.
func TestListInDoubtWithoutTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := twoAfterALoss(t, s)
		time.Sleep(engine.DefaultLease) // a new process grants no permits before that
		s.set(headgate.ErrStoreUnavailable, false)
		op, r := call(t, all[0], "list", 1)
		if r.Err != nil || !r.Allowed || r.Promise.Mode != engine.Fallback {
			t.Fatalf("%+v", r)
		}
		s.set(nil, false)
		time.Sleep(10 * time.Second)
		if n := s.held(t); n != 1 {
			t.Errorf("the store has %d permits, want that of the share", n)
		}
		held := r.Reservation(&op, "list")
		if r := do(t, all[0], held.Settle(1)); r.Err != nil || !r.Found {
			t.Fatalf("%+v", r)
		}
		time.Sleep(10 * time.Second)
		if n := s.held(t); n != 0 {
			t.Errorf("the store has %d permits after the settlement", n)
		}
	})
}

// If the store is in doubt and does not answer, the shares also decide the limits that have recovered.
func TestRecoveredLimitsInDoubtWithoutTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := twoAfterALoss(t, s)
		time.Sleep(10 * time.Second)
		s.set(headgate.ErrStoreUnavailable, false)
		op := engine.Op{Kind: engine.OpAllow, Space: "s", Key: "k", Charges: []engine.Charge{
			{Limit: rule.TokenBucket(rule.PerHour(400)), Cost: 1}, {Limit: rule.FixedWindow(rule.PerSecond(4)), Cost: 1},
		}}
		for i, want := range []bool{true, true, false} {
			if r := do(t, all[0], op); r.Err != nil || r.Allowed != want {
				t.Errorf("request %d beside a share of 2 a second: %+v", i, r)
			}
		}
	})
}
