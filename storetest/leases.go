package storetest

import (
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
)

var (
	fiveHeld = rule.Concurrency(5, rule.LeaseTime(10*second))
	twoHeld  = rule.Concurrency(2, rule.LeaseTime(10*second))
	briefly  = rule.Concurrency(5, rule.LeaseTime(second))
)

// runLeasesAgain checks acquires whose id already holds a permit.
func runLeasesAgain(t *testing.T, o Options) {
	store := o.New(t, headgatetest.NewClock().Now)
	for i, s := range []struct {
		kind    engine.Kind
		limit   engine.Limit
		id      string
		cost    int64
		allowed bool
		left    int64
		why     string
	}{
		{engine.OpAcquire, fiveHeld, "a", 1, true, 4, "one of five units is held"},
		{engine.OpAcquire, fiveHeld, "a", 1, true, 4, "an acquire whose answer was lost can be repeated"},
		{engine.OpAcquire, fiveHeld, "a", 3, true, 2, "the granted units are the held units: three, not one"},
		{engine.OpAcquire, fiveHeld, "b", 3, false, 2, "two units are left"},
		{engine.OpAcquire, fiveHeld, "b", 2, true, 0, "two units fit"},
		{engine.OpAcquire, fiveHeld, "a", 4, false, 0, "four units do not fit beside two, and the three stay"},
		{engine.OpAcquire, fiveHeld, "a", 2, true, 1, "fewer units always fit"},
		{engine.OpAcquire, twoHeld, "a", 2, true, 0, "lowering the limit takes no units from a holder (known bug 30)"},
		{engine.OpAcquire, twoHeld, "c", 1, false, 0, "above the lowered limit no new holder gets a permit"},
		{engine.OpRelease, fiveHeld, "a", 0, true, 3, "a release gives back the units held now"},
		{engine.OpRenew, briefly, "b", 0, true, 3, "a renewal with a shorter lease time"},
	} {
		r := do(t, store, op(s.kind, "k", s.limit, s.cost, s.id))
		if d := r; r.Err != nil || d.Allowed != s.allowed || d.Binds().Remaining != s.left {
			t.Fatalf("step %d: %s %s %d of %s: allowed=%t remaining=%d (%v), want %t %d, because %s",
				i, s.kind, s.id, s.cost, s.limit, d.Allowed, d.Binds().Remaining, r.Err, s.allowed, s.left, s.why)
		}
	}
	if r := do(t, store, op(engine.OpExpiry, "k", fiveHeld, 0, "")); !r.Found || r.TTL < second {
		t.Errorf("found=%t, TTL %s, want at least 1s: no state expires early (rule 9)", r.Found, r.TTL)
	}
}

// runMoreUnits checks how long a holder must wait if it requests more units than fit. The holder's own permit counts
// as room, so the holder waits only for other holders' permits (rule 3).
func runMoreUnits(t *testing.T, o Options) {
	clock := headgatetest.NewClock()
	store := o.New(t, clock.Now)
	acquire := func(id string, cost int64) engine.Answer {
		t.Helper()
		r := do(t, store, op(engine.OpAcquire, "k", fiveHeld, cost, id))
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		return r
	}
	acquire("a", 2)
	clock.Advance(second)
	acquire("b", 3)
	d := acquire("a", 4)
	if d.Allowed || d.Binds().RetryAfter != 10*second {
		t.Errorf("four units beside three: allowed=%t, retry after %s, want false and 10s", d.Allowed, d.Binds().RetryAfter)
	}
	clock.Advance(d.Binds().RetryAfter)
	if d = acquire("a", 4); !d.Allowed {
		t.Errorf("a retry at retry_after is denied: %+v", d)
	}
}

// runLeaseLengths checks that each permit keeps the lease time with which it was granted, even if later requests use
// another version of the limit. If the clock is set back, the rest of the permit's lease is cut to this lease time
// (regression: bug 41; a denied acquire with a short lease time shortened other holders' permits).
func runLeaseLengths(t *testing.T, o Options) {
	clock := headgatetest.NewClock()
	store := o.New(t, clock.Now)
	for i, s := range []struct {
		after   time.Duration
		kind    engine.Kind
		limit   engine.Limit
		id      string
		cost    int64
		allowed bool
		retry   time.Duration
		reset   time.Duration
	}{
		{0, engine.OpAcquire, fiveHeld, "long", 4, true, 0, 10 * second},
		{0, engine.OpAcquire, briefly, "short", 1, true, 0, 10 * second},
		{0, engine.OpAcquire, briefly, "other", 2, false, 10 * second, 10 * second},
		{second, engine.OpAcquire, briefly, "other", 2, false, 9 * second, 9 * second},
		{0, engine.OpAcquire, briefly, "short", 1, true, 0, 9 * second},
		{0, engine.OpPeek, briefly, "", 2, false, 9 * second, 9 * second},
		{8500 * ms, engine.OpAcquire, briefly, "short", 1, true, 0, second},
		{-time.Hour, engine.OpPeek, briefly, "", 1, false, second, 10 * second},
		{0, engine.OpPeek, briefly, "", 2, false, 10 * second, 10 * second},
		{0, engine.OpAcquire, fiveHeld, "other", 1, false, second, 10 * second},
		{second, engine.OpAcquire, fiveHeld, "other", 1, true, 0, 10 * second},
		{0, engine.OpRenew, fiveHeld, "short", 0, false, never, 10 * second},
		{0, engine.OpRelease, briefly, "long", 0, true, 0, 10 * second},
		{-time.Hour, engine.OpRenew, fiveHeld, "short", 0, false, never, 10 * second},
		{second, engine.OpPeek, fiveHeld, "", 5, false, 9 * second, 9 * second},
		{0, engine.OpRenew, fiveHeld, "other", 0, true, 0, 10 * second},
		{-500 * ms, engine.OpPeek, fiveHeld, "", 5, false, 10 * second, 10 * second},
	} {
		clock.Advance(s.after)
		r := do(t, store, op(s.kind, "k", s.limit, s.cost, s.id))
		if d := r; r.Err != nil || d.Allowed != s.allowed || d.Binds().RetryAfter != s.retry || d.Binds().ResetAfter != s.reset {
			t.Fatalf("step %d: %s %s %d of %s: allowed=%t retry %s reset %s (%v), want %t %s %s",
				i, s.kind, s.id, s.cost, s.limit, d.Allowed, d.Binds().RetryAfter, d.Binds().ResetAfter, r.Err, s.allowed, s.retry, s.reset)
		}
	}
}

// runLeasesTogether checks that a permit is acquired on all of several limits or on none of them.
func runLeasesTogether(t *testing.T, o Options) {
	store := o.New(t, headgatetest.NewClock().Now)
	user := rule.Concurrency(2)
	all := engine.Charge{Limit: rule.Concurrency(3, rule.Named("all")), Key: "everybody"}
	ask := func(kind engine.Kind, who string, cost int64) engine.Answer {
		t.Helper()
		shared := all
		shared.Cost = cost
		r := do(t, store, engine.Op{
			Kind: kind, Space: "storetest", Key: who, ID: who,
			Charges: []engine.Charge{{Limit: user, Cost: cost}, shared},
		})
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		return r
	}
	if d := ask(engine.OpAcquire, "ann", 2); !d.Allowed || d.Granted != 2 {
		t.Errorf("two units of two and of three: %+v", d)
	}
	if d := ask(engine.OpAcquire, "bob", 2); d.Allowed || d.Granted != 0 || d.Binding != 1 || d.Of(0).Remaining != 2 {
		t.Errorf("the shared limit denied bob, and bob's own limit must be untouched: %+v", d)
	}
	if d := ask(engine.OpRelease, "ann", 0); d.Of(0).Remaining != 2 || d.Of(1).Remaining != 3 {
		t.Errorf("a release gives back on every limit: %+v", d)
	}
	if d := ask(engine.OpAcquire, "bob", 2); !d.Allowed {
		t.Errorf("the units are free again, but bob is denied: %+v", d)
	}
}
