package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// The tests below use limits per user and a limit for all users, which are on different slots.
var (
	splitA = rule.Concurrency(3, rule.Named("a"), rule.LeaseTime(10*time.Second))
	splitB = rule.Concurrency(3, rule.Named("b"), rule.LeaseTime(10*time.Second))
)

const splitUser, splitAll = "user", "everybody"

// charge returns a charge for cost permits under a limit, with its own key.
func charge(limit engine.Limit, key string, cost int64) engine.Charge {
	return engine.Charge{Limit: limit, Key: key, Cost: cost}
}

func leases(t *testing.T, store engine.Store, kind engine.Kind, id string, charges ...engine.Charge) engine.Answer {
	t.Helper()
	ops, results := []engine.Op{{Kind: kind, Space: "s", Key: splitUser, ID: id, Charges: charges}}, make([]engine.Answer, 1)
	if err := ops[0].Check(); err != nil {
		t.Fatal(err)
	}
	store.Do(context.Background(), ops, results)
	if results[0].Err != nil {
		t.Fatalf("%s %s: %v", kind, id, results[0].Err)
	}
	return results[0]
}

// Regression: bug 45. If one slot denies an acquire, the holder's units and expiry on the other slots must not change.
func TestSplitKeeps(t *testing.T) {
	t.Parallel()
	d := testbed.Guard(t, testbed.Cluster(t))
	testbed.EachClient(t, func(t *testing.T, open func(testing.TB, testbed.Deployment, redisstore.Config) *redisstore.Store) {
		for _, s := range []struct {
			name         string
			user, all    int64 // held before
			others       int64 // held by another caller, under the limit for all users
			asks, askAll int64
			allowed      bool
			left, ends   string // afterwards, for the user's limit and the limit for all users
		}{
			{"more of both", 1, 1, 2, 2, 2, false, "2 0", "6s 10s"},
			{"more of both, equal on the first", 2, 1, 2, 2, 2, false, "1 0", "6s 10s"},
			{"fewer of the first", 3, 1, 2, 1, 2, false, "0 0", "6s 10s"},
			{"nothing held before", 0, 0, 3, 2, 1, false, "3 0", "0s 10s"},
			{"nothing held on the first", 0, 1, 2, 2, 2, false, "3 0", "0s 10s"},
			{"more than there is", 1, 1, 0, 2, 4, false, "2 2", "6s 6s"},
			{"a renewal", 1, 1, 2, 1, 1, true, "2 0", "10s 10s"},
			{"a change that fits", 1, 2, 1, 3, 1, true, "0 1", "10s 10s"},
		} {
			t.Run(s.name, func(t *testing.T) {
				clock := headgatetest.NewClock()
				store := open(t, d, redisstore.Config{Prefix: testbed.Prefix(), Clock: clock.Now})
				if s.user > 0 {
					leases(t, store, engine.OpAcquire, "holder", charge(splitA, splitUser, s.user))
				}
				if s.all > 0 {
					leases(t, store, engine.OpAcquire, "holder", charge(splitB, splitAll, s.all))
				}
				clock.Advance(4 * time.Second)
				if s.others > 0 {
					leases(t, store, engine.OpAcquire, "other", charge(splitB, splitAll, s.others))
				}
				r := leases(t, store, engine.OpAcquire, "holder", charge(splitA, splitUser, s.asks), charge(splitB, splitAll, s.askAll))
				if d := r; d.Allowed != s.allowed || !s.allowed && d.Binding != 1 {
					t.Errorf("asked for %d and %d: %+v", s.asks, s.askAll, d)
				}
				said := fmt.Sprint(r.Of(0).Remaining, " ", r.Of(1).Remaining)
				a, b := charge(splitA, splitUser, 0), charge(splitB, splitAll, 0)
				is := leases(t, store, engine.OpPeek, "", a, b)
				left := fmt.Sprint(is.Of(0).Remaining, " ", is.Of(1).Remaining)
				ends := fmt.Sprint(leases(t, store, engine.OpExpiry, "", a).TTL, " ", leases(t, store, engine.OpExpiry, "", b).TTL)
				if said != s.left || left != s.left || ends != s.ends {
					t.Errorf("said %s left, and there are %s for %s; want %s for %s", said, left, ends, s.left, s.ends)
				}
				if renewed := leases(t, store, engine.OpRenew, "holder", a).Allowed; renewed != (s.user > 0 || s.allowed) {
					t.Errorf("the holder's lease of the first limit is renewed: %t", renewed)
				}
			})
		}
	})
}

// between is a connection that runs a function before each command.
type between struct {
	redisstore.Conn
	before func(n int)
	n      int
}

func (b *between) Do(ctx context.Context, commands []redisstore.Command, replies []redisstore.Reply) {
	b.n++
	b.before(b.n)
	b.Conn.Do(ctx, commands, replies)
}

// interrupted opens two stores on a Cluster with one clock. Calls by the second store can be interrupted.
func interrupted(t *testing.T) (clock *headgatetest.Clock, plain, store *redisstore.Store, asked *between) {
	t.Helper()
	d := testbed.Guard(t, testbed.Cluster(t))
	clock = headgatetest.NewClock()
	config := redisstore.Config{Prefix: testbed.Prefix(), Clock: clock.Now}
	plain = testbed.OpenRueidis(t, d, config)
	client := d.Goredis()
	d.User.Of(client)
	asked = &between{Conn: testbed.ConnOf(t, client), before: func(int) {}}
	opened, err := redisstore.New(asked, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return clock, plain, opened, asked
}

// While an acquire is in flight, another holder takes the units that the acquire has given up. Then one of the slots
// denies the acquire. Only units that still fit are restored, and no limit is exceeded.
func TestSplitRestores(t *testing.T) {
	t.Parallel()
	clock, plain, store, asked := interrupted(t)

	for i, s := range []struct {
		taken int64
		left  string // units left on the user's limits a and b
	}{
		{0, "0 2"}, {1, "1 2"}, {2, "0 2"},
	} {
		user, all := fmt.Sprint("user ", i), fmt.Sprint("everybody ", i)
		wants := func(a, b int64) []engine.Charge {
			return []engine.Charge{charge(splitA, user, a), charge(splitB, user, b), charge(splitA, all, a), charge(splitB, all, b)}
		}
		// Warm up, so that the servers have every script and only real calls are counted.
		leases(t, store, engine.OpAcquire, "holder", wants(3, 1)...)
		leases(t, plain, engine.OpAcquire, "other", charge(splitB, all, 2))
		clock.Advance(4 * time.Second)
		asked.n, asked.before = 0, func(n int) {
			if n == 3 && s.taken > 0 { // the holder was looked up, and the first slot has allowed the acquire
				leases(t, plain, engine.OpAcquire, "other", charge(splitA, user, s.taken))
			}
		}
		if d := leases(t, store, engine.OpAcquire, "holder", wants(1, 2)...); d.Allowed {
			t.Errorf("all units of the limit for all users are held, and two more passed: %+v", d)
		}
		is := leases(t, plain, engine.OpPeek, "", wants(0, 0)...)
		if left := fmt.Sprint(is.Of(0).Remaining, " ", is.Of(1).Remaining); left != s.left {
			t.Errorf("%d taken meanwhile: %s left, want %s", s.taken, left, s.left)
		}
		if ttl := leases(t, plain, engine.OpExpiry, "", charge(splitB, user, 0)).TTL; ttl != 6*time.Second {
			t.Errorf("the holder's lease now ends in %s, want 6s", ttl)
		}
	}
}

// TestSplitRestoresTheUnitsOfAKey is like TestSplitRestores, for a limit that divides its units among keys. Afterwards
// each key must hold exactly the units of its permits.
func TestSplitRestoresTheUnitsOfAKey(t *testing.T) {
	t.Parallel()
	clock, _, store, _ := interrupted(t)
	fair := rule.FairConcurrency(20, rule.Named("fair"), rule.LeaseTime(10*time.Second))
	clock.Advance(time.Second)
	of := func(key string, n int64) engine.Charge {
		return engine.Charge{Limit: fair, Space: "s", Key: key, Cost: n}
	}
	ask := func(key string, n, ofB int64) {
		t.Helper()
		if d := leases(t, store, engine.OpAcquire, "holder", of(key, n), charge(splitB, splitAll, ofB)); d.Allowed {
			t.Fatalf("four units of three: %+v", d)
		}
	}
	ask("ann", 5, 4) // nothing is held
	leases(t, store, engine.OpAcquire, "holder", of("ann", 8))
	leases(t, store, engine.OpAcquire, "other", of("ann", 1))
	leases(t, store, engine.OpAcquire, "holder", of("bob", 2)) // with the same id
	ask("ann", 9, 4)
	ask("ann", 6, 4)
	for key, left := range map[string]int64{"ann": 5, "bob": 6, "carol": 7} { // of 11, they hold 9, 2 and 0
		if d := leases(t, store, engine.OpPeek, "", of(key, 1)); d.Binds().Remaining != left {
			t.Errorf("%s: %d remaining, want %d", key, d.Binds().Remaining, left)
		}
	}
	for _, id := range []string{"holder", "other"} {
		leases(t, store, engine.OpRelease, id, of("ann", 0))
	}
	leases(t, store, engine.OpRelease, "holder", of("bob", 0))
	if d := leases(t, store, engine.OpExpiry, "", of("ann", 0)); d.Found {
		t.Errorf("after all releases there is a state, which ends in %s", d.TTL)
	}
}

// A denied request on several slots does not give back units that have already been refilled, or a pacer slot if
// others are queued after it (regression: bug 58).
func TestSplitGivesBackWhatIsStillMissing(t *testing.T) {
	t.Parallel()
	clock, plain, store, asked := interrupted(t)
	do := func(store engine.Store, kind engine.Kind, charges ...engine.Charge) engine.Answer {
		t.Helper()
		results := make([]engine.Answer, 1)
		store.Do(t.Context(), []engine.Op{{Kind: kind, Space: "s", Key: splitUser, Charges: charges}}, results)
		if results[0].Err != nil {
			t.Fatal(results[0].Err)
		}
		return results[0]
	}
	spent := rule.FixedWindow(rule.PerDay(1), rule.Named("spent"))
	do(plain, engine.OpAllow, charge(spent, splitAll, 1))
	denied := func(limit engine.Limit, cost int64, during func()) {
		t.Helper()
		asked.n, asked.before = 0, func(n int) {
			if n == 2 { // the first slot is charged
				during()
			}
		}
		if do(store, engine.OpAllow, charge(limit, splitUser, cost), charge(spent, splitAll, 1)).Allowed {
			t.Fatal("a spent limit allows")
		}
	}
	bucket := rule.TokenBucket(rule.PerSecond(1000), rule.Burst(100))
	pacer := rule.Pacer(rule.PerSecond(10), rule.MaxQueue(10))
	for _, limit := range []engine.Limit{bucket, pacer} { // so that the servers have every script
		denied(limit, 1, func() {})
	}
	clock.Advance(time.Minute)

	passed := int64(0)
	denied(bucket, 50, func() {
		clock.Advance(50 * time.Millisecond)
		passed = do(plain, engine.OpAtMost, charge(bucket, splitUser, 1000)).Granted
	})
	passed += do(plain, engine.OpAtMost, charge(bucket, splitUser, 1000)).Granted
	if passed > 100 {
		t.Errorf("%d units passed at one instant, the burst is 100", passed)
	}

	var second time.Duration
	denied(pacer, 1, func() { second = do(plain, engine.OpAllow, charge(pacer, splitUser, 1)).Delay })
	if third := do(plain, engine.OpAllow, charge(pacer, splitUser, 1)).Delay; third-second < 100*time.Millisecond {
		t.Errorf("callers have the slots %s and %s: the second one was given twice", second, third)
	}
}

// A list on several slots is settled on each slot. A denied list leaves no permits held.
func TestSplitLists(t *testing.T) {
	t.Parallel()
	_, plain, store, _ := interrupted(t)
	window := rule.FixedWindow(rule.PerDay(10), rule.Named("window"))
	reserve := func(id string, used int64, wanted bool) *engine.Reservation {
		t.Helper()
		op := engine.Op{Kind: engine.OpReserve, Space: "s", Key: splitUser, ID: id, Charges: []engine.Charge{charge(splitA, splitUser, 1), charge(window, splitAll, used)}}
		results := make([]engine.Answer, 1)
		if store.Do(t.Context(), []engine.Op{op}, results); results[0].Err != nil || results[0].Allowed != wanted {
			t.Fatalf("%+v", results[0])
		}
		return results[0].Reservation(&op, id)
	}
	left := func(permits, units int64) {
		t.Helper()
		is := leases(t, plain, engine.OpPeek, "", charge(splitA, splitUser, 0), charge(window, splitAll, 0))
		if is.Of(0).Remaining != permits || is.Of(1).Remaining != units {
			t.Errorf("%d permits and %d units are left, want %d and %d", is.Of(0).Remaining, is.Of(1).Remaining, permits, units)
		}
	}
	held := reserve("first", 8, true)
	left(2, 2)
	reserve("second", 3, false)
	left(2, 2)
	results := make([]engine.Answer, 1)
	store.Do(t.Context(), []engine.Op{held.SettleEach(func(i int) int64 { return []int64{0, 5}[i] })}, results)
	if results[0].Err != nil || !results[0].Found {
		t.Errorf("%+v", results[0])
	}
	left(3, 5)
}

// If a request requires a single step, charges on several slots are an error, and nothing is charged.
func TestSplitIsRefused(t *testing.T) {
	t.Parallel()
	_, plain, store, _ := interrupted(t)
	limiter := headgate.New(headgate.WithStore(store))
	daily := limiter.PolicyOf("daily", rule.FixedWindow(rule.PerDay(10)))
	left := func(key string, want int64) {
		t.Helper()
		if d, err := headgate.New(headgate.WithStore(plain)).PolicyOf("daily", rule.FixedWindow(rule.PerDay(10))).Peek(t.Context(), key, 1); err != nil || d.Remaining != want {
			t.Errorf("%d left of %s, %v; want %d", d.Remaining, key, err, want)
		}
	}
	charges := func(a, b, c string) []headgate.Charge {
		return []headgate.Charge{{Policy: daily, Key: a, Units: 1, Atomic: true}, {Policy: daily, Key: b, Units: 1}, {Policy: daily, Key: c, Units: 2}}
	}
	_, err := limiter.AllowAll(t.Context(), charges("{acme}:ann", "{acme}:bob", "cid")...)
	var item *engine.ItemError
	if !errors.As(err, &item) || item.Item != 2 || !strings.Contains(err.Error(), `charges.2: policy "daily": key is "cid"; accepted: with atomic, keys on one slot of the Cluster`) {
		t.Errorf("%v", err)
	}
	if r, _, err := limiter.ReserveAll(t.Context(), charges("{acme}:ann", "cid", "cid2")...); r != nil || !errors.Is(err, headgate.ErrInvalid) {
		t.Errorf("%v, %v", r, err)
	}
	left("{acme}:ann", 10)
	left("cid", 10)
	r, d, err := limiter.ReserveAll(t.Context(), charges("{acme}:ann", "{acme}:bob", "{acme}:cid")...)
	if err != nil || !d.Allowed || d.Promise.Mode != engine.Exact {
		t.Fatalf("%+v, %v", d, err)
	}
	if _, err := r.Commit(t.Context(), 1, 1, 5); err != nil {
		t.Error(err)
	}
	left("{acme}:cid", 5)
}
