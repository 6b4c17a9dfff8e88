package memstore_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

func open(t *testing.T, c memstore.Config) (*memstore.Store, *headgate.Limiter) {
	t.Helper()
	store, err := memstore.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return store, headgate.New(headgate.WithStore(store))
}

// errNoRoom is take's error for a denial because there is no room for the key.
var errNoRoom = errors.New("no room")

func take(t *testing.T, l *headgate.Limiter, key string, limit engine.Limit) error {
	t.Helper()
	d, err := l.PolicyOf("", limit).Allow(context.Background(), key)
	if err == nil && d.Full {
		if d.Allowed || d.Granted != 0 || d.RetryAfter < time.Second {
			t.Errorf("for lack of room: %+v", d)
		}
		return errNoRoom
	}
	return err
}

func seconds(n int64) engine.Limit {
	return rule.FixedWindow(rule.Per(10, time.Duration(n)*time.Second))
}

// A full store keeps its keys and denies new ones, but first drops expired keys (regression: bug 107).
func TestFullStoreRefusesNewKeys(t *testing.T) {
	clock := headgatetest.NewClock()
	store, l := open(t, memstore.Config{MaxKeys: 3, Clock: clock.Now})
	for i := range 3 {
		if err := take(t, l, strconv.Itoa(i), seconds(int64(10+i))); err != nil {
			t.Fatalf("key %d of 3: %v", i, err)
		}
	}
	for range 2 {
		if err := take(t, l, "new", seconds(1)); !errors.Is(err, errNoRoom) {
			t.Fatalf("a fourth key: %v, want a denial", err)
		}
	}
	if err := take(t, l, "0", seconds(10)); err != nil {
		t.Errorf("a known key on a full store: %v", err)
	}
	if _, err := l.PolicyOf("", seconds(1)).Peek(context.Background(), "new", 1); err != nil {
		t.Errorf("a peek needs no room: %v", err)
	}
	clock.Advance(10 * time.Second)
	if err := take(t, l, "new", seconds(1)); err != nil {
		t.Errorf("after one expired: %v", err)
	}
	if got, want := store.Stats(), (memstore.Stats{Keys: 3, Most: 3, Shared: 2, MostShared: 2, Expired: 1, Refused: 2}); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}

// Each settled reservation is a key until the reservation ends: an hour after the reserve at most, although the units of
// a month count for the month. Settlements of a month therefore do not fill the store (regression: bug 213).
func TestSettlementsOfAMonthDoNotFillTheStore(t *testing.T) {
	clock := headgatetest.NewClock()
	store, l := open(t, memstore.Config{MaxKeys: 100, Clock: clock.Now})
	budget := l.PolicyOf("", rule.FixedWindow(rule.Per(1_000_000, 30*24*time.Hour)))
	reserve := func() *headgate.Reservation {
		r, _, err := budget.Reserve(t.Context(), "k", 2)
		if err != nil || r == nil {
			t.Fatalf("%v, %v with %+v", r, err, store.Stats())
		}
		return r
	}
	first := reserve()
	for range 10 {
		for range 40 {
			if _, err := reserve().Commit(t.Context(), 1); err != nil {
				t.Fatalf("%v with %+v", err, store.Stats())
			}
		}
		clock.Advance(time.Hour)
		if _, err := first.Commit(t.Context(), 1); !errors.Is(err, headgate.ErrEnded) {
			t.Fatalf("the first reservation after an hour: %v, want %v", err, headgate.ErrEnded)
		}
	}
	if d, err := budget.Peek(t.Context(), "k", 1); err != nil || d.Remaining != 1_000_000-402 {
		t.Errorf("%+v, %v: want 402 units used", d, err)
	}
}

// A store that gets new keys drops states that expired a minute ago, even if it is not full. Until then a key that is full
// again is found where it was, unless a quarter of the store is in use (regression: bug 174).
func TestNewKeysDropExpiredOnes(t *testing.T) {
	clock := headgatetest.NewClock()
	store, l := open(t, memstore.Config{MaxKeys: 2000, Clock: clock.Now})
	for i := range 400 {
		if err := take(t, l, strconv.Itoa(i), seconds(1)); err != nil {
			t.Fatal(err)
		}
	}
	clock.Advance(time.Second)
	if err := take(t, l, "soon", seconds(1)); err != nil {
		t.Fatal(err)
	}
	if stats := store.Stats(); stats.Keys != 401 || stats.Expired != 0 {
		t.Errorf("at once: %+v", stats)
	}
	clock.Advance(time.Minute + 2*time.Second)
	for i := range 100 {
		if err := take(t, l, "later"+strconv.Itoa(i), seconds(1)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := store.Stats(), (memstore.Stats{Keys: 100, Most: 2000, MostShared: 1000, Expired: 401}); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}

// If a quarter of the store is in use, new keys drop expired states at once.
func TestNewKeysDropExpiredOnesAtOnce(t *testing.T) {
	clock := headgatetest.NewClock()
	store, l := open(t, memstore.Config{MaxKeys: 1000, Clock: clock.Now})
	for _, name := range []string{"first", "second"} {
		for i := range 400 {
			if err := take(t, l, name+strconv.Itoa(i), seconds(1)); err != nil {
				t.Fatal(err)
			}
		}
		clock.Advance(time.Second)
	}
	if stats := store.Stats(); stats.Keys > 400+250 || stats.Expired < 150 {
		t.Errorf("%+v", stats)
	}
}

// Using a key postpones its expiry, but does not change its place in the shard's order. The key must not be treated as
// expired.
func TestKeyInUseDoesNotExpire(t *testing.T) {
	clock := headgatetest.NewClock()
	bucket := rule.TokenBucket(rule.PerSecond(1), rule.Burst(100))
	store, l := open(t, memstore.Config{MaxKeys: 2, Clock: clock.Now})
	for range 50 {
		if err := take(t, l, "busy", bucket); err != nil {
			t.Fatal(err)
		}
	}
	if err := take(t, l, "idle", bucket); err != nil {
		t.Fatal(err)
	}
	clock.Advance(2 * time.Second)
	if err := take(t, l, "new", bucket); err != nil {
		t.Fatalf("idle has expired: %v", err)
	}
	if d, err := l.PolicyOf("", bucket).Peek(context.Background(), "busy", 1); err != nil || d.Remaining != 52 {
		t.Errorf("busy has %d left of 100 (%v), want 52", d.Remaining, err)
	}
	if got := store.Stats(); got.Keys != 2 || got.Expired != 1 {
		t.Errorf("stats %+v, want 2 keys, 1 expired", got)
	}
}

// Under a flood of new keys from many goroutines, the bound holds and no key loses its
// count.
func TestFloodKeepsTheBoundAndAllCounts(t *testing.T) {
	clock := headgatetest.NewClock()
	store, l := open(t, memstore.Config{MaxKeys: 2000, Clock: clock.Now})
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 500 {
				if err := take(t, l, strconv.Itoa(g)+"-"+strconv.Itoa(i), seconds(60)); err != nil && !errors.Is(err, errNoRoom) {
					t.Error(err)
				}
				if s := store.Stats(); s.Keys > 2000+16 { // each caller may have reserved room for one key
					t.Errorf("%d keys, bound 2000", s.Keys)
				}
			}
		})
	}
	wg.Wait()
	if s := store.Stats(); s.Keys != 2000 || s.Refused != 16*500-2000 {
		t.Errorf("stats %+v, want 2000 keys and %d operations refused", s, 16*500-2000)
	}
}

// Reserved room that an operation did not use is freed.
func TestDeniedRequestsReserveNoRoom(t *testing.T) {
	store, l := open(t, memstore.Config{MaxKeys: 1, Clock: headgatetest.NewClock().Now})
	for range 3 {
		if _, err := l.PolicyOf("", seconds(1)).AllowN(context.Background(), "k", 11); err != nil {
			t.Fatal(err)
		}
	}
	if s := store.Stats(); s.Keys != 0 {
		t.Errorf("denied requests hold %d keys", s.Keys)
	}
	if err := take(t, l, "k", seconds(1)); err != nil {
		t.Error(err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []memstore.Config{{MaxKeys: -1}, {MaxKeys: 1<<31 + 1}} {
		if _, err := memstore.New(c); !errors.Is(err, headgate.ErrInvalid) {
			t.Errorf("%+v: %v, want an InputError", c, err)
		}
	}
}

// With the system clock, time advances, and a window aligned to the clock ends by the wall clock.
func TestSystemClockAdvances(t *testing.T) {
	_, l := open(t, memstore.Config{})
	before := time.Now()
	d, err := l.PolicyOf("", rule.FixedWindow(rule.PerDay(5), rule.Align("clock"))).Allow(context.Background(), "k")
	if err != nil {
		t.Fatal(err)
	}
	end := before.Add(d.ResetAfter).UTC()
	if whole := end.Round(time.Hour); end.Sub(whole).Abs() > time.Minute || whole.Hour() != 0 {
		t.Errorf("the window ends at %s, want midnight UTC", end)
	}
	if d.At.Before(before.Add(-time.Second)) || d.At.After(time.Now().Add(time.Second)) {
		t.Errorf("decided at %s, now %s", d.At, before)
	}
}

// A decision on one limit of a known key allocates nothing.
func TestNoAllocation(t *testing.T) {
	if raced.On {
		t.Skip("the race detector makes pools allocate; make test runs this without it too")
	}
	ctx := context.Background()
	_, l := open(t, memstore.Config{Clock: headgatetest.NewClock().Now})
	for _, limit := range []engine.Limit{
		rule.TokenBucket(rule.PerHour(1000)),
		rule.Pacer(rule.PerHour(1000), rule.MaxQueue(1000)),
		rule.FixedWindow(rule.PerHour(1000)),
		rule.SlidingWindow(rule.PerHour(1000)),
		rule.SlidingWindow(rule.PerHour(1000), rule.Strict(), rule.Named("strict")),
		rule.SlidingLog(rule.PerHour(1000)),
	} {
		if err := take(t, l, "k", limit); err != nil {
			t.Fatal(err)
		}
		p := l.PolicyOf("", limit)
		allocs := testing.AllocsPerRun(200, func() {
			if _, err := p.Allow(ctx, "k"); err != nil {
				t.Error(err)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations a decision, want 0", limit, allocs)
		}
	}
}
