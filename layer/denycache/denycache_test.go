package denycache_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/denycache"
	"github.com/headgate/headgate/memstore"
)

// remote is a store with a network delay in each direction, the time away.
type remote struct {
	engine.Store
	away  time.Duration
	back  func() time.Duration // the delay of answers, if it differs from away
	asked int
	mu    sync.Mutex
}

func (f *remote) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	f.mu.Lock()
	f.asked += len(ops)
	away, back := f.away, f.away
	if f.back != nil {
		back = f.back()
	}
	f.mu.Unlock()
	time.Sleep(away)
	f.Store.Do(ctx, ops, results)
	time.Sleep(back)
}

func start(t *testing.T, c denycache.Config) (*remote, *headgate.Limiter) {
	t.Helper()
	memory, err := memstore.New(memstore.Config{Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	f := &remote{Store: memory, away: 10 * time.Millisecond}
	store, err := denycache.New(f, c)
	if err != nil {
		t.Fatal(err)
	}
	return f, headgate.New(headgate.WithStore(store))
}

func allow(t *testing.T, l *headgate.Limiter, key string, limit engine.Limit) headgate.Decision {
	t.Helper()
	d, err := l.PolicyOf("", limit).Allow(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// For every algorithm whose denials may be repeated, a denial is repeated until its retry-after. The repetition
// contains the store's answer and reports its age. Afterwards requests go to the store again, and a retry after exactly
// that wait passes.
func TestDenialIsRepeatedUntilRetryAfter(t *testing.T) {
	for _, limit := range []engine.Limit{
		rule.TokenBucket(rule.PerSecond(1), rule.Burst(3)),
		rule.TokenBucket(rule.PerSecond(1), rule.Burst(3), rule.AllowDebt(2)),
		rule.FixedWindow(rule.PerSecond(3)),
		rule.FixedWindow(rule.PerMinute(3), rule.Align("clock")),
		rule.SlidingWindow(rule.PerSecond(3), rule.Segments(5)),
		rule.SlidingLog(rule.PerSecond(3)),
		rule.SlidingLog(rule.PerSecond(3), rule.And(rule.PerMinute(40))),
	} {
		synctest.Test(t, func(t *testing.T) {
			f, l := start(t, denycache.Config{MaxStale: time.Hour})
			first, sent := headgate.Decision{Allowed: true}, time.Now()
			for first.Allowed {
				time.Sleep(15 * time.Millisecond)
				sent = time.Now()
				first = allow(t, l, "k", limit)
			}
			asked := f.asked
			for wait := first.RetryAfter / 4; wait > 20*time.Millisecond; wait /= 2 {
				time.Sleep(wait)
				d := allow(t, l, "k", limit)
				said := engine.Single(engine.OpPeek, "k", limit, 1)
				said.Space = engine.DefaultSpace
				results := make([]engine.Answer, 1)
				f.Store.Do(context.Background(), []engine.Op{said}, results)
				store := results[0]
				// The first denial arrived here 10 ms after the decision.
				store.AtMicros, store.Binds().RetryAfter = store.AtMicros-f.away.Microseconds(), store.Binds().RetryAfter+f.away
				store.Binds().ResetAfter += f.away
				if d.Allowed || f.asked != asked || d.Promise.Stale < wait || d.Promise.Stale > first.RetryAfter {
					t.Fatalf("%v: %+v, asked %d times more", limit, d, f.asked-asked)
				}
				if d.RetryAfter != store.Binds().RetryAfter || d.ResetAfter != store.Binds().ResetAfter || d.Remaining != store.Binds().Remaining || d.Binding.Index != store.Binding || !d.At.Equal(store.At()) {
					t.Errorf("%v: here\n%+v, there\n%+v", limit, d, store)
				}
			}
			// RetryAfter has passed since the denied request was sent. A request sent now is therefore decided
			// RetryAfter after the denial was decided, and passes.
			time.Sleep(time.Until(sent.Add(first.RetryAfter)))
			if d := allow(t, l, "k", limit); !d.Allowed || f.asked != asked+1 {
				t.Errorf("%v: after the wait: %+v, asked %d times more", limit, d, f.asked-asked)
			}
		})
	}
}

// Requests whose denials may not be repeated always go to the store.
func TestOtherOperationsGoToTheStore(t *testing.T) {
	bucket := rule.TokenBucket(rule.PerMinute(1))
	for name, op := range map[string]engine.Op{
		"two units":          engine.Single(engine.OpAllow, "k", rule.TokenBucket(rule.PerMinute(1), rule.Burst(2)), 2),
		"a peek":             engine.Single(engine.OpPeek, "k", bucket, 1),
		"counts its denials": engine.Single(engine.OpAllow, "k", rule.FixedWindow(rule.PerMinute(1), rule.CountDenied()), 1),
		"a pacer":            engine.Single(engine.OpAllow, "k", rule.Pacer(rule.PerMinute(1), rule.MaxQueue(1)), 1),
		"denied for ever":    engine.Single(engine.OpAllow, "k", engine.DenyAll(), 1),
		"a hold":             {Kind: engine.OpAcquire, Key: "k", ID: "i", Charges: []engine.Charge{{Limit: rule.Concurrency(1), Cost: 2}}},
		"two limits": {Key: "k", Charges: []engine.Charge{
			{Limit: bucket, Cost: 1}, {Limit: rule.FixedWindow(rule.PerMinute(1)), Cost: 1},
		}},
		"a list of two keys": {Key: "k", Charges: []engine.Charge{{Limit: bucket, Cost: 1}, {Limit: bucket, Cost: 1, Key: "l"}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, l := start(t, denycache.Config{MaxStale: time.Hour})
			for range 6 {
				for _, r := range l.Core().Decide(context.Background(), op) {
					if r.Err != nil || r.Promise != (engine.Promise{}) {
						t.Errorf("%s: %+v", name, r)
					}
				}
			}
			if f.asked != 6 {
				t.Errorf("%s: asked %d times of 6", name, f.asked)
			}
		})
	}
}

// Units returned through this store are visible at once, in the order of the operations. Units returned by other
// processes are visible within MaxStale.
func TestGiveAndResetDropTheDenial(t *testing.T) {
	limit := rule.FixedWindow(rule.PerHour(1))
	other := rule.FixedWindow(rule.PerHour(2))
	ctx := context.Background()
	synctest.Test(t, func(t *testing.T) {
		f, l := start(t, denycache.Config{MaxStale: time.Second})
		deny := func() {
			t.Helper()
			for range 2 {
				if d := allow(t, l, "k", limit); d.Allowed && d.Remaining > 0 {
					t.Fatalf("%+v", d)
				}
			}
			if d := allow(t, l, "k", limit); d.Allowed || d.Promise.Mode != engine.Cached {
				t.Fatalf("not repeated: %+v", d)
			}
		}
		deny()
		if _, err := l.PolicyOf("", other).Give(ctx, "k", 1); err != nil {
			t.Fatal(err)
		}
		deny() // denied once more, by the store
		if _, err := l.PolicyOf("", limit).Reset(ctx, "k"); err != nil {
			t.Fatal(err)
		}
		deny()
		// One call contains the same operations, with a give in between.
		r := l.Core().Decide(ctx, engine.Single(engine.OpAllow, "k", limit, 1), engine.Single(engine.OpGive, "k", limit, 1), engine.Single(engine.OpAllow, "k", limit, 1), engine.Single(engine.OpAllow, "k", limit, 1))
		if r[0].Promise.Mode != engine.Cached || !r[2].Allowed || r[3].Allowed || r[3].Promise.Mode != engine.Exact {
			t.Errorf("around a give: %+v", r)
		}
		deny()
		// A cached denial does not apply to a limit with a different rate.
		if d := allow(t, l, "k", other); !d.Allowed {
			t.Errorf("of 2: %+v", d)
		}
		// Another process resets the key.
		results := make([]engine.Answer, 1)
		f.Store.Do(ctx, []engine.Op{{Kind: engine.OpReset, Space: engine.DefaultSpace, Key: "k", Charges: []engine.Charge{{Limit: limit}}}}, results)
		if d := allow(t, l, "k", limit); d.Allowed {
			t.Error("snapshots at once")
		}
		time.Sleep(time.Second)
		if d := allow(t, l, "k", limit); !d.Allowed {
			t.Errorf("not snapshots after a second: %+v", d)
		}
	})
	// A denial that was requested before a give, but arrives after it, is not cached.
	synctest.Test(t, func(t *testing.T) {
		f, l := start(t, denycache.Config{MaxStale: time.Hour})
		allow(t, l, "k", limit)
		go func() { _, _ = l.PolicyOf("", limit).Allow(ctx, "k") }()
		time.Sleep(f.away * 3 / 2) // it was decided, and its answer is in flight
		f.mu.Lock()
		f.away = time.Microsecond
		f.mu.Unlock()
		if _, err := l.PolicyOf("", limit).Give(ctx, "k", 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if d := allow(t, l, "k", limit); d.Promise.Mode == engine.Cached {
			t.Errorf("the denial was kept: %+v", d)
		}
	})
}

// At most MaxKeys denials are cached, and expired ones make room.
func TestDenialsAreBounded(t *testing.T) {
	limit := rule.FixedWindow(rule.PerSecond(1))
	synctest.Test(t, func(t *testing.T) {
		f, l := start(t, denycache.Config{MaxStale: time.Hour, MaxKeys: 64})
		f.away = 0
		repeated := func() (n int) {
			for i := range 1000 {
				for range 2 {
					allow(t, l, strconv.Itoa(i), limit)
				}
			}
			before := f.asked
			for i := range 1000 {
				allow(t, l, strconv.Itoa(i), limit)
			}
			return 1000 - (f.asked - before)
		}
		if n := repeated(); n < 32 || n > 64 {
			t.Errorf("%d denials were kept, want up to 64", n)
		}
		time.Sleep(time.Second)
		if n := repeated(); n < 32 || n > 64 {
			t.Errorf("a second later %d were, want up to 64", n)
		}
	})
	for field, c := range map[string]denycache.Config{"max_stale": {}, "max_keys": {MaxStale: time.Second, MaxKeys: 63}} {
		var bad *engine.InputError
		if _, err := denycache.New(nil, c); !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%+v: %v, want an InputError about %s", c, err, field)
		}
	}
}
