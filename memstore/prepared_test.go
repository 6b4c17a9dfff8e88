package memstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// A key that is denied repeatedly is denied without the lock, but only under its own limit. Every change of its state
// takes effect at once.
func TestHotKeyIsDeniedWithoutLock(t *testing.T) {
	limit := parse(t, "1/1h burst 10")
	more := parse(t, "1/1h burst 11")
	give := engine.Single(engine.OpGive, "k", limit, 1)
	several := give
	several.Charges = []engine.Charge{{Limit: limit, Cost: 1}, {Limit: parse(t, "unlimited"), Cost: 1}}
	for _, c := range []struct {
		name   string
		change []engine.Op
		passes engine.Limit
	}{
		{"give", []engine.Op{give}, limit},
		{"reset", []engine.Op{engine.Single(engine.OpReset, "k", limit, 0)}, limit},
		{"give of several", []engine.Op{several}, limit},
		{"a larger burst", nil, more},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := New(Config{MaxKeys: 1})
			if err != nil {
				t.Fatal(err)
			}
			heat(t, s, limit)
			for _, op := range c.change {
				decide(t, s, op)
			}
			if o := allow(t, s, c.passes, 1); !o.Allowed {
				t.Errorf("after it: %+v", o)
			}
		})
	}
}

// TestKnownKeyOfAnAlignedWindow checks that a key with a state is decided by the wall clock if its windows follow it.
func TestKnownKeyOfAnAlignedWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // begins at midnight UTC
		s, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(400 * time.Millisecond)
		limit := parse(t, "fixed-window 2/1s align clock")
		for _, remaining := range []int64{1, 0} {
			if o := allow(t, s, limit, 1); !o.Allowed || o.Binds().Remaining != remaining || o.Binds().ResetAfter != 600*time.Millisecond {
				t.Errorf("%+v, want %d remaining and a reset after 600 ms", o, remaining)
			}
		}
	})
}

// TestFairSharesEqualTheSteps checks that a store whose fair shares are decided in place, and one with a clock of its
// own, which decides with the steps, return equal answers.
func TestFairSharesEqualTheSteps(t *testing.T) {
	limits := []engine.Limit{parse(t, "fair-share 20/1s burst 40"), parse(t, "fair-share 20/1s burst 40 weight 2"), parse(t, "fair-share 30/1s burst 90 nested")}
	synctest.Test(t, func(t *testing.T) {
		random, denied := rand.New(rand.NewPCG(1, 2)), 0
		var stores [2]*Store
		for i, config := range []Config{{}, {Clock: time.Now}} {
			s, err := New(config)
			if err != nil {
				t.Fatal(err)
			}
			stores[i] = s
		}
		for range 20_000 {
			time.Sleep(time.Duration(random.ExpFloat64()*20_000) * time.Microsecond)
			op := engine.Single(engine.OpAllow, fmt.Sprintf("g%d:k%d", random.IntN(3), random.IntN(4)), limits[random.IntN(len(limits))], 1+random.Int64N(2))
			got, want := decide(t, stores[0], op), decide(t, stores[1], op)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%v: %+v, with the steps %+v", op, got, want)
			}
			if !got.Allowed {
				denied++
			}
			if random.IntN(1000) == 0 {
				time.Sleep(10 * time.Second) // all units refill, and the states expire
			}
		}
		if denied < 2000 || denied > 18_000 {
			t.Errorf("%d requests are denied", denied)
		}
	})
}

// parse parses a limit's text.
func parse(t *testing.T, text string) engine.Limit {
	t.Helper()
	limit, err := engine.ParseLimit(text)
	if err != nil {
		t.Fatal(err)
	}
	return limit
}

// decide runs an operation that must succeed.
func decide(t *testing.T, s *Store, op engine.Op) engine.Answer {
	t.Helper()
	var results [1]engine.Answer
	s.Do(context.Background(), []engine.Op{op}, results[:])
	if results[0].Err != nil {
		t.Error(results[0].Err)
	}
	return results[0]
}

// allow charges units to the key "k" and returns the outcome.
func allow(t *testing.T, s *Store, limit engine.Limit, units int64) engine.Answer {
	t.Helper()
	return decide(t, s, engine.Single(engine.OpAllow, "k", limit, units))
}

// heat empties a key's bucket and repeats a denied request until the key is hot.
func heat(t *testing.T, s *Store, limit engine.Limit) {
	t.Helper()
	key := s.secret.hash("k")
	h := &s.shards[s.shard(key)]
	for range 1 << 24 {
		d := allow(t, s, limit, 1)
		if h.hot.scope.Load() != nil && !d.Allowed {
			if d.Binds().Limit != limit.Capacity() || d.Binds().Remaining != 0 || d.Binds().RetryAfter <= 0 || d.Binds().ResetAfter < d.Binds().RetryAfter {
				t.Fatalf("denied with %+v", d)
			}
			return
		}
	}
	t.Fatal("the key does not become hot")
}

// A reader that is concurrent with a writer reads a complete state or none.
func TestHotStateIsNeverTorn(t *testing.T) {
	var shared hot
	limit := parse(t, "fixed-window 1000/1h")
	scopes := [2]*scope{{limit: limit}, {limit: limit}}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for n := uint64(0); ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			// The end of the state, 1_000_000 + n%2000, determines its key and its count.
			shared.set(hash{n % 2, n % 2}, scopes[n%2], algo.Words{1 + n%1000, 1_000_000 + n%2000}, 0)
		}
	})
	met := 0
	for i := 0; met < 1000; i++ {
		n := uint64(i % 2)
		var o algo.Outcome
		if !shared.deny(hash{n, n}, scopes[n], limit.Numbers(), 0, 1000, &o) {
			continue
		}
		met++
		end := uint64(o.Wait) - 1_000_000
		if end%2 != n || o.Remaining != 1000-int64(1+end%1000) {
			t.Fatalf("key %d was answered the state %d, remaining %d", n, end, o.Remaining)
		}
	}
	close(stop)
	wg.Wait()
}

// No caller is denied by a state that is later than the caller's clock, or that belongs to another key or limit.
func TestHotStateDeniesOnlyItsKeyLimitAndTime(t *testing.T) {
	var shared hot
	limit := parse(t, "fixed-window 1/1h")
	c := &scope{limit: limit}
	shared.set(hash{1, 2}, c, algo.Words{1, 1_000_000}, 500)
	for now, want := range map[int64]bool{499: false, 500: true} {
		if got := shared.deny(hash{1, 2}, c, limit.Numbers(), now, 1, new(algo.Outcome)); got != want {
			t.Errorf("at %d: denied %v, want %v", now, got, want)
		}
	}
	for _, key := range []hash{{1, 3}, {2, 2}} {
		if shared.deny(key, c, limit.Numbers(), 500, 1, new(algo.Outcome)) {
			t.Errorf("another key's state denies %v", key)
		}
	}
	if shared.deny(hash{1, 2}, &scope{limit: limit}, limit.Numbers(), 500, 1, new(algo.Outcome)) {
		t.Error("another limit's state denies")
	}
}

// Some callers request two units and are denied without the lock, while another caller gives one unit back and takes
// it again. Each answer shows the state at its instant.
func TestHotDecisionsAreInTimeOrder(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	limit := parse(t, "1/1h burst 10")
	heat(t, s, limit)

	var wg sync.WaitGroup
	stop := make(chan struct{})
	denied := make([][]engine.Answer, 2)
	for g := range denied {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				d := allow(t, s, limit, 2)
				if d.Allowed {
					t.Errorf("two units: %+v", d)
					return
				}
				if len(denied[g]) < 1<<20 {
					denied[g] = append(denied[g], d)
				}
			}
		})
	}
	var changes []int64 // one unit is left after the first, none after the second, …
	for range 100_000 {
		given := decide(t, s, engine.Single(engine.OpGive, "k", limit, 1))
		taken := allow(t, s, limit, 1)
		if given.Binds().Remaining != 1 || !taken.Allowed {
			t.Errorf("give: %+v; allow: %+v", given, taken)
			break
		}
		changes = append(changes, given.AtMicros, taken.AtMicros)
	}
	close(stop)
	wg.Wait()
	for _, d := range slices.Concat(denied...) {
		n, same := slices.BinarySearch(changes, d.AtMicros)
		if !same && d.Binds().Remaining != int64(n%2) {
			t.Fatalf("%d changes before %d, and %d remaining", n, d.AtMicros, d.Binds().Remaining)
		}
	}
}

// TestNewKeyDropsTheExpired checks that a new key that could be decided at once drops an expired one of its shard, so
// that a store in use shrinks to the keys that matter.
func TestNewKeyDropsTheExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{MaxKeys: 1000}) // one shard
		if err != nil {
			t.Fatal(err)
		}
		limit := parse(t, "fixed-window 5/1s")
		decide(t, s, engine.Single(engine.OpAllow, "the first of the table", parse(t, "fixed-window 5/1h"), 1))
		for _, key := range []string{"a", "b", "c"} {
			if r := ask(s, engine.Single(engine.OpAllow, key, limit, 1)); r.Err != nil || !r.Allowed {
				t.Fatal(r)
			}
			time.Sleep(2 * time.Minute)
		}
		if got := s.Stats(); got.Keys != 2 || got.Expired != 2 {
			t.Errorf("%+v, want two keys", got)
		}
	})
}
