package storetest

import (
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

// runFairLeases checks permits that are divided among keys: a key can have 8 units, times its weight, for each unit that is
// then free, and its first unit passes while any is free. Two keys can use the same id.
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
		{0, engine.OpPeek, fairHeld, "ann", "", 1, true, 17, 0, "a lone key can have 8/9 of the units"},
		{0, engine.OpAcquire, fairHeld, "ann", "a", 18, false, 17, never, "and no more, whatever is free"},
		{0, engine.OpAcquire, fairHeld, "ann", "a", 17, true, 0, 0, "it gets them at once"},
		{0, engine.OpAcquire, fairHeld, "ann", "b", 1, false, 0, 10 * second, "18 are more than 8 times the 2 that would be free"},
		{0, engine.OpAcquire, fairHeldThrice, "ann", "b", 1, true, 1, 0, "with weight 3 it can have 48 of 2 that are free"},
		{0, engine.OpRelease, fairHeld, "ann", "b", 0, true, 0, 0, "any weight can release it"},
		{second, engine.OpAcquire, fairHeld, "bob", "a", 1, true, 1, 0, "the id is another key's too"},
		{0, engine.OpAcquire, fairHeld, "bob", "b", 1, true, 0, 0, "2 are at most 8 times the one that is free"},
		{0, engine.OpAcquire, fairHeld, "bob", "c", 1, false, 0, 9 * second, "the last unit is for a key without any"},
		{0, engine.OpAcquire, fairHeld, "carol", "a", 2, false, 1, 9 * second, "and only one unit"},
		{0, engine.OpAcquire, fairHeld, "carol", "a", 1, true, 0, 0, "which carol gets"},
		{0, engine.OpAcquire, fairHeld, "dave", "a", 1, false, 0, 9 * second, "nothing is free until ann's permit expires"},
		{0, engine.OpAcquire, fairHeld, "ann", "a", 17, true, 0, 0, "an acquire whose answer was lost can be repeated"},
		{0, engine.OpAcquire, fairHeld, "ann", "a", 16, true, 0, 0, "and changed to fewer units, although 16 are more than 8 times what is free"},
		{second, engine.OpRelease, fairHeld, "ann", "a", 0, true, 15, 0, "ann has no units, and the permits of others stay"},
		{0, engine.OpPeek, fairHeld, "bob", "", 1, true, 14, 0, "bob has two"},
		{0, engine.OpRenew, fairHeld, "bob", "a", 0, true, 14, 0, "bob's own permit is renewed"},
		{0, engine.OpRenew, fairHeld, "dave", "a", 0, false, 15, never, "dave has none with this id"},
		{9 * second, engine.OpPeek, fairHeld, "bob", "", 1, true, 16, 0, "the permits that were not renewed have expired"},
		{0, engine.OpPeek, fairHeldThrice, "carol", "", 1, true, 18, 0, "carol's too"},
		{0, engine.OpAcquire, fairHeld, "carol", "c", 2, true, 14, 0, "so carol's units start again"},
		{-time.Hour, engine.OpAcquire, fairHeld, "carol", "d", 14, true, 0, 0, "with the clock set back all stay"},
		{0, engine.OpAcquire, fairHeld, "carol", "e", 1, false, 0, 10 * second, "and none lasts longer than its lease time"},
		{10 * second, engine.OpPeek, fairHeld, "carol", "", 1, true, 17, 0, "then nothing is held"},
	} {
		clock.Advance(s.after)
		r := do(t, store, op(s.kind, s.key, s.limit, s.cost, s.id))
		if d := r.Outcome; r.Err != nil || d.Allowed != s.allowed || d.Remaining != s.left || d.RetryAfter != s.retry {
			t.Fatalf("step %d: %s %s/%s %d of %s: allowed=%t remaining=%d retry %s (%v), want %t %d %s, because %s",
				i, s.kind, s.key, s.id, s.cost, s.limit, d.Allowed, d.Remaining, d.RetryAfter, r.Err, s.allowed, s.left, s.retry, s.why)
		}
	}
	do(t, store, op(engine.OpAcquire, "ann", fairHeld, 2, "a"))
	if r := do(t, store, op(engine.OpReset, "bob", fairHeld, 0, "")); !r.Found {
		t.Error("a reset of any key ends all permits, but it found none")
	}
	if r := do(t, store, op(engine.OpPeek, "ann", fairHeld, 1, "")); r.Outcome.Remaining != 17 {
		t.Errorf("after a reset %d remaining, want 17", r.Outcome.Remaining)
	}
}
