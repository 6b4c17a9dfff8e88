package storetest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
)

func op(kind engine.Kind, key string, limit engine.Limit, cost int64, id string) engine.Op {
	return engine.Op{Kind: kind, Space: "storetest", Key: key, ID: id, Charges: []engine.Charge{{Limit: limit, Cost: cost}}}
}

// runLeases checks concurrency limits: permits expire, and each can be released only once.
func runLeases(t *testing.T, o Options) {
	clock := headgatetest.NewClock()
	store := o.New(t, clock.Now)
	limit := rule.Concurrency(5, rule.LeaseTime(10*second))
	for i, s := range []struct {
		after   time.Duration
		kind    engine.Kind
		id      string
		cost    int64
		allowed bool
		left    int64
		retry   time.Duration
		reset   time.Duration
		why     string
	}{
		{0, engine.OpAcquire, "a", 3, true, 2, 0, 10 * second, "three of five units are held"},
		{second, engine.OpAcquire, "b", 3, false, 2, 9 * second, 9 * second, "enough units are free when a's permit expires"},
		{0, engine.OpAcquire, "c", 6, false, 2, never, 9 * second, "six units never fit"},
		{0, engine.OpAcquire, "b", 2, true, 0, 0, 10 * second, "two units fit exactly"},
		{0, engine.OpAcquire, "b", 2, true, 0, 0, 10 * second, "an acquire whose answer was lost can be repeated"},
		{0, engine.OpRelease, "a", 0, true, 3, 0, 10 * second, "a release gives back the units held"},
		{0, engine.OpRelease, "a", 0, true, 3, 0, 10 * second, "a second release does nothing"},
		{0, engine.OpRenew, "a", 0, false, 3, never, 10 * second, "a released permit is lost"},
		{9 * second, engine.OpRenew, "b", 0, true, 3, 0, 10 * second, "a renewal extends a permit that has not expired"},
		{10*second - time.Microsecond, engine.OpPeek, "", 4, false, 3, time.Microsecond, time.Microsecond, "a permit holds its units to its last microsecond"},
		{time.Microsecond, engine.OpPeek, "", 5, true, 5, 0, 0, "a permit holds its units no longer"},
		{0, engine.OpRenew, "b", 0, false, 5, never, 0, "an expired permit is lost"},
		{0, engine.OpAcquire, "d", 3, true, 2, 0, 10 * second, "three units are held again"},
		{second, engine.OpAcquire, "e", 2, true, 0, 0, 10 * second, "two more units are held"},
		{9 * second, engine.OpPeek, "", 4, false, 3, second, second, "the first permit expires, the second does not"},
		{-time.Hour, engine.OpPeek, "", 4, false, 0, 10 * second, 10 * second, "setting the clock back lengthens no permit"},
	} {
		clock.Advance(s.after)
		d := do(t, store, op(s.kind, "k", limit, s.cost, s.id))
		if d.Allowed != s.allowed || d.Binds().Remaining != s.left || d.Binds().RetryAfter != s.retry || d.Binds().ResetAfter != s.reset {
			t.Fatalf("step %d: %s %s %d: allowed=%t remaining=%d retry=%s reset=%s, want %t %d %s %s, because %s",
				i, s.kind, s.id, s.cost, d.Allowed, d.Binds().Remaining, d.Binds().RetryAfter, d.Binds().ResetAfter, s.allowed, s.left, s.retry, s.reset, s.why)
		}
	}
}

// runParallel (regression: bug 24) checks that many parallel callers together get exactly the limit, without errors,
// and without giving up after retries.
func runParallel(t *testing.T, o Options) {
	for _, limit := range []engine.Limit{
		rule.TokenBucket(rule.PerHour(25)), rule.FixedWindow(rule.PerHour(25)), rule.SlidingLog(rule.PerHour(25)),
		rule.SlidingWindow(rule.PerHour(25)), rule.SlidingWindow(rule.PerHour(25), rule.Strict(), rule.Named("strict")),
	} {
		store := o.New(t, headgatetest.NewClock().Now)
		var passed atomic.Int64
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				r := do(t, store, op(engine.OpAllow, "k", limit, 1, ""))
				if r.Err != nil {
					t.Error(r.Err)
				}
				if r.Allowed {
					passed.Add(1)
				}
			})
		}
		wg.Wait()
		if passed.Load() != 25 {
			t.Errorf("%s: %d of 50 parallel calls passed, want exactly 25", limit, passed.Load())
		}
	}
}

// runContract checks the rules about keys, expiry, order and errors.
func runContract(t *testing.T, o Options) {
	clock := headgatetest.NewClock()
	store := o.New(t, clock.Now)
	one := rule.TokenBucket(rule.PerSecond(1))
	expiry := func(key string) engine.Answer { return do(t, store, op(engine.OpExpiry, key, one, 0, "")) }

	do(t, store, op(engine.OpPeek, "k", one, 1, ""))
	do(t, store, op(engine.OpAllow, "k", one, 0, ""))
	do(t, store, op(engine.OpAllow, "k", one, 2, ""))
	if expiry("k").Found {
		t.Error("a peek, an allow of 0 units or a denial left a state (rules 6 and 9)")
	}
	do(t, store, op(engine.OpAllow, "k", one, 1, ""))
	if r := expiry("k"); !r.Found || r.TTL != second {
		t.Errorf("after an allow: found %t, TTL %s, want 1s: no state lives for ever, and none expires early (known bug 15)", r.Found, r.TTL)
	}
	clock.Advance(400 * ms)
	do(t, store, op(engine.OpAllow, "k", one, 1, ""))
	if r := expiry("k"); r.TTL != 600*ms {
		t.Errorf("after a denial: TTL %s, want 600ms: a denial never shortens the TTL (known bug 16)", r.TTL)
	}
	if r := do(t, store, op(engine.OpReset, "k", one, 0, "")); !r.Found || expiry("k").Found {
		t.Error("reset did not find the state, or left it")
	}
	if r := do(t, store, op(engine.OpReset, "k", one, 0, "")); r.Found {
		t.Error("reset found a state that does not exist")
	}
	do(t, store, op(engine.OpAllow, "k", one, 1, ""))
	clock.Advance(second)
	if r := expiry("k"); r.Found {
		t.Error("a state that equals no state is still found")
	}
	runKeys(t, store)
	runBatch(t, store)
	runErrors(t, store, one)
}

// runLifetimes checks that units spent while the clock was set back a little are kept until they no longer count (rules
// 8 and 9).
func runLifetimes(t *testing.T, o Options) {
	for _, limit := range []engine.Limit{
		rule.TokenBucket(rule.PerMinute(6)), rule.SlidingLog(rule.PerMinute(6)), rule.SlidingWindow(rule.PerMinute(6), rule.Segments(6), rule.Strict()),
	} {
		clock := headgatetest.NewClock()
		store := o.New(t, clock.Now)
		do(t, store, op(engine.OpAllow, "k", limit, 1, ""))
		clock.Advance(-20 * second)
		d := do(t, store, op(engine.OpAllow, "k", limit, 1, ""))
		if r := do(t, store, op(engine.OpExpiry, "k", limit, 0, "")); !d.Allowed || r.TTL != d.Binds().ResetAfter {
			t.Errorf("%s: allowed=%t, expires in %s and counts for %s", limit, d.Allowed, r.TTL, d.Binds().ResetAfter)
		}
	}
}

// runKeys (regression: bug 28) checks that different keys, namespaces, names and algorithms use different counters, and
// that a charge may have its own key.
func runKeys(t *testing.T, store engine.Store) {
	limit, named := rule.TokenBucket(rule.PerHour(1)), rule.TokenBucket(rule.PerHour(1), rule.Named("b:c"))
	for _, key := range []string{core.Key("a:b", "c"), core.Key("a", "b:c"), "\x00\xff", strings.Repeat("k", engine.MaxKeyBytes)} {
		for _, l := range []engine.Limit{limit, named, rule.FixedWindow(rule.PerHour(1))} {
			for _, space := range []string{"one", "two"} {
				request := op(engine.OpAllow, key, l, 1, "")
				request.Space = space
				if r := do(t, store, request); !r.Allowed {
					t.Errorf("key %q, limit %s, space %s: denied, as if another counter's units were spent", key, l, space)
				}
			}
		}
	}
	shared := engine.Op{Kind: engine.OpAllow, Space: "s", Key: "alice", Charges: []engine.Charge{
		{Limit: rule.TokenBucket(rule.PerHour(5)), Cost: 1}, {Limit: rule.TokenBucket(rule.PerHour(1)), Cost: 1, Key: "everybody"},
	}}
	first := do(t, store, shared)
	shared.Key = "bob"
	second := do(t, store, shared)
	if !first.Allowed || second.Allowed || second.Binding != 1 {
		t.Errorf("a limit shared by two users: %+v, %+v", first, second)
	}
	if r := do(t, store, op(engine.OpPeek, "bob", rule.TokenBucket(rule.PerHour(5)), 1, "")); r.Binds().Remaining != 5 {
		t.Errorf("bob was charged for a denied request: %d of 5 left", r.Binds().Remaining)
	}
}

func runBatch(t *testing.T, store engine.Store) {
	limit := rule.TokenBucket(rule.PerHour(2), rule.Named("batch"))
	ops := make([]engine.Op, 4)
	for i := range ops {
		ops[i] = op(engine.OpAllow, "batch", limit, 1, "")
	}
	results := make([]engine.Answer, len(ops))
	refused := errors.New("rejected by the caller")
	results[1].Err = refused
	store.Do(context.Background(), ops, results)
	for i, want := range []bool{true, false, true, false} {
		if results[i].Allowed != want || i != 1 && results[i].Err != nil {
			t.Errorf("batch %d: allowed=%t err=%v, want %t", i, results[i].Allowed, results[i].Err, want)
		}
	}
	if !errors.Is(results[1].Err, refused) {
		t.Errorf("an operation that already had an error was decided: %v", results[1].Err)
	}
}

func runErrors(t *testing.T, store engine.Store, limit engine.Limit) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	results := make([]engine.Answer, 1)
	store.Do(ctx, []engine.Op{op(engine.OpAllow, "ended", limit, 1, "")}, results)
	if !errors.Is(results[0].Err, context.Canceled) {
		t.Errorf("an operation whose context had ended returned %v", results[0].Err)
	}
	for range 2 {
		if err := store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if r := do(t, store, op(engine.OpAllow, "k", limit, 1, "")); !errors.Is(r.Err, engine.ErrClosed) {
		t.Errorf("a closed store returned %v", r.Err)
	}
}
