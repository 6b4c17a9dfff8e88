package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
)

var (
	fairHeld       = rule.FairConcurrency(20, rule.LeaseTime(10*second))
	fairHeldThrice = rule.FairConcurrency(20, rule.LeaseTime(10*second), rule.Weight(3))
)

// runFairLeases checks permits that are divided among keys. A key must leave some units free: the fewer units it holds
// itself, the fewer it must leave. The key's first unit passes as long as any unit is free. Two keys can use the same
// id.
func runFairLeases(t *testing.T, o Options) {
	clock := headgatetest.NewClock()
	store := o.New(t, clock.Now)
	for i, s := range []struct {
		after   time.Duration
		kind    engine.Kind
		limit   engine.Limit
		key, id string
		cost    int64
		allowed bool
		left    int64
		retry   time.Duration
		why     string
	}{
		{0, engine.OpPeek, fairHeld, "ann", "", 1, true, 18, 0, "a lone key can have all but a sixteenth"},
		{0, engine.OpPeek, fairHeldThrice, "ann", "", 1, true, 19, 0, "with weight 3 a third of that is kept, rounded up"},
		{0, engine.OpAcquire, fairHeld, "ann", "a", 19, false, 18, never, "and no more, whatever is free"},
		{0, engine.OpAcquire, fairHeld, "ann", "a", 18, true, 0, 0, "it gets them at once"},
		{0, engine.OpAcquire, fairHeld, "ann", "b", 1, false, 0, 10 * second, "it must leave two free"},
		{0, engine.OpAcquire, fairHeldThrice, "ann", "b", 1, true, 0, 0, "with weight 3 it must leave only one"},
		{0, engine.OpRelease, fairHeld, "ann", "b", 0, true, 0, 0, "any weight can release it"},
		{second, engine.OpAcquire, fairHeld, "bob", "a", 1, true, 0, 0, "the id is another key's too"},
		{0, engine.OpAcquire, fairHeld, "bob", "b", 1, false, 0, 9 * second, "the last unit is for a key without any"},
		{0, engine.OpAcquire, fairHeld, "carol", "a", 2, false, 1, 9 * second, "and only one unit"},
		{0, engine.OpAcquire, fairHeld, "carol", "a", 1, true, 0, 0, "which carol gets"},
		{0, engine.OpAcquire, fairHeld, "dave", "a", 1, false, 0, 9 * second, "nothing is free until ann's permit expires"},
		{0, engine.OpAcquire, fairHeld, "ann", "a", 18, true, 0, 0, "an acquire whose answer was lost can be repeated"},
		{0, engine.OpAcquire, fairHeld, "ann", "a", 17, true, 0, 0, "and changed to fewer units, although one is free"},
		{second, engine.OpRelease, fairHeld, "ann", "a", 0, true, 14, 0, "two are held; no key leaves more than an eighth, rounded up"},
		{0, engine.OpRenew, fairHeld, "bob", "a", 0, true, 14, 0, "bob's own permit is renewed"},
		{0, engine.OpRenew, fairHeld, "dave", "a", 0, false, 14, never, "dave has none with this id"},
		{9 * second, engine.OpPeek, fairHeld, "bob", "", 1, true, 15, 0, "the permits that were not renewed have expired"},
		{0, engine.OpPeek, fairHeldThrice, "carol", "", 1, true, 17, 0, "carol's too"},
		{0, engine.OpAcquire, fairHeld, "carol", "c", 2, true, 13, 0, "so carol's units start again"},
		{-time.Hour, engine.OpAcquire, fairHeld, "carol", "d", 13, true, 1, 0, "with the clock set back all stay"},
		{0, engine.OpAcquire, fairHeld, "carol", "e", 2, false, 1, 10 * second, "and none lasts longer than its lease time"},
		{10 * second, engine.OpPeek, fairHeld, "carol", "", 1, true, 18, 0, "then nothing is held"},
	} {
		clock.Advance(s.after)
		r := do(t, store, op(s.kind, s.key, s.limit, s.cost, s.id))
		if d := r; r.Err != nil || d.Allowed != s.allowed || d.Binds().Remaining != s.left || d.Binds().RetryAfter != s.retry {
			t.Fatalf("step %d: %s %s/%s %d of %s: allowed=%t remaining=%d retry %s (%v), want %t %d %s, because %s",
				i, s.kind, s.key, s.id, s.cost, s.limit, d.Allowed, d.Binds().Remaining, d.Binds().RetryAfter, r.Err, s.allowed, s.left, s.retry, s.why)
		}
	}
	do(t, store, op(engine.OpAcquire, "ann", fairHeld, 2, "a"))
	if r := do(t, store, op(engine.OpReset, "bob", fairHeld, 0, "")); !r.Found {
		t.Error("a reset of any key ends all permits, but it found none")
	}
	if r := do(t, store, op(engine.OpPeek, "ann", fairHeld, 1, "")); r.Binds().Remaining != 18 {
		t.Errorf("after a reset %d remaining, want 18", r.Binds().Remaining)
	}
}

// runFairWaits checks waits until several permits have expired. Each expiry changes the units of the permit's key,
// and of the average key.
func runFairWaits(t *testing.T, o Options) {
	clock := headgatetest.NewClock()
	store := o.New(t, clock.Now)
	limit := rule.FairConcurrency(160, rule.LeaseTime(10*second))
	ask := func(key, id string, cost int64) engine.Answer {
		t.Helper()
		r := do(t, store, op(engine.OpAcquire, key, limit, cost, id))
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		return r
	}
	ask("ann", "a", 40)
	clock.Advance(second)
	ask("ann", "b", 5)
	clock.Advance(second)
	ask("bob", "a", 95)
	ask("bob", "b", 5)
	for _, c := range []struct {
		cost int64
		wait time.Duration
	}{
		{9, 8 * second},  // 8 units fit now; for 9, ann's 40 must expire first
		{49, 8 * second}, // then ann holds 5 of 105 units, and must leave 6 of 55
		{50, 9 * second}, // then ann holds none of 100 units and must leave 6 of 60
		{54, 9 * second},
		{55, 10 * second}, // all have expired
		{151, never},
	} {
		if d := ask("ann", "c", c.cost); d.Allowed || d.Binds().RetryAfter != c.wait {
			t.Errorf("%d units: allowed=%t, retry after %s, want false and %s", c.cost, d.Allowed, d.Binds().RetryAfter, c.wait)
		}
	}
	clock.Advance(8 * second)
	if d := ask("ann", "c", 50); d.Allowed || d.Binds().Remaining != 49 {
		t.Errorf("after the first has expired: %+v, want 49 remaining", d)
	}
	if d := ask("ann", "c", 49); !d.Allowed {
		t.Errorf("49 after their wait: %+v", d)
	}
}

// runFairTies checks that permits with the same expiry expire together. The permits belong to 6 keys with one unit
// each, and to a large key that raises the average. Two units would fit if only the 6 permits expired, but only one
// if all of them do.
func runFairTies(t *testing.T, o Options) {
	store := o.New(t, headgatetest.NewClock().Now)
	of := func(lease time.Duration, weight int) engine.Limit {
		return rule.FairConcurrency(320, rule.LeaseTime(lease), rule.Weight(weight))
	}
	var ops []engine.Op
	for i := range 285 {
		lease := 60 * second
		if i < 6 {
			lease = 10 * second
		}
		ops = append(ops, op(engine.OpAcquire, fmt.Sprint("key ", i), of(lease, 1), 1, "a"))
	}
	ops = append(ops, op(engine.OpAcquire, "large", of(10*second, 100), 20, "a"), op(engine.OpAcquire, "new", of(60*second, 1), 2, "a"))
	results := make([]engine.Answer, len(ops))
	store.Do(t.Context(), ops, results)
	for i, r := range results[:286] {
		if r.Err != nil || !r.Allowed {
			t.Fatalf("acquire %d: %+v", i, r)
		}
	}
	if d := results[286]; d.Allowed || d.Binds().RetryAfter != 60*second {
		t.Errorf("allowed %t, retry after %s, want false and 1m: at 10 s the large key's permit expires too", d.Allowed, d.Binds().RetryAfter)
	}
}
