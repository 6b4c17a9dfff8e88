package memstore_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

// allowIn charges one unit to a key in a namespace, and returns the operation's error.
func allowIn(t *testing.T, s engine.Store, space, key string, limit engine.Limit) error {
	t.Helper()
	op := engine.Single(engine.OpAllow, key, limit, 1)
	op.Space = space
	results := make([]engine.Result, 1)
	s.Do(t.Context(), []engine.Op{op}, results)
	return results[0].Err
}

// TestShareOfNameSpace checks that a namespace with a bound cannot take the room of other namespaces, whatever its
// limits. Expired keys and resets make room in the bounded namespace.
func TestShareOfNameSpace(t *testing.T) {
	for _, whenFull := range []memstore.WhenFull{memstore.Refuse, memstore.Evict} {
		clock := headgatetest.NewClock()
		s, err := memstore.New(memstore.Config{MaxKeys: 100, MaxKeysOf: map[string]int{"inline": 50}, WhenFull: whenFull, Clock: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		admitted, hundred := 0, rule.FixedWindow(rule.Per(1, 100*365*24*time.Hour))
		for i := range 200 {
			limit := rule.FixedWindow(rule.Per(int64(1+i%7), 100*365*24*time.Hour))
			switch err := allowIn(t, s, "inline", fmt.Sprint("k", i), limit); {
			case err == nil:
				admitted++
			case !errors.Is(err, memstore.ErrFull) || !errors.Is(err, engine.ErrStoreUnavailable):
				t.Fatal(err)
			}
		}
		if admitted != 50 || s.Stats().Evicted != 0 {
			t.Errorf("%d keys, %+v, want 50, and none evicted", admitted, s.Stats())
		}
		for i := range 50 {
			if err := allowIn(t, s, "policy:api", fmt.Sprint("k", i), rule.TokenBucket(rule.PerSecond(5))); err != nil {
				t.Fatalf("the share fills the store: %v", err)
			}
		}
		reset := engine.Single(engine.OpReset, "k0", hundred, 0)
		reset.Space = "inline"
		s.Do(t.Context(), []engine.Op{reset}, make([]engine.Result, 1))
		if err := allowIn(t, s, "inline", "after the reset", hundred); err != nil {
			t.Errorf("after a reset: %v", err)
		}
		if err := allowIn(t, s, "inline", "one more", hundred); !errors.Is(err, memstore.ErrFull) {
			t.Errorf("one more: %v", err)
		}
		clock.Advance(101 * 365 * 24 * time.Hour)
		for i := range 50 {
			if err := allowIn(t, s, "inline", fmt.Sprint("later", i), hundred); err != nil {
				t.Fatalf("after all have expired: %v", err)
			}
		}
		_ = s.Close()
	}
	if _, err := memstore.New(memstore.Config{MaxKeysOf: map[string]int{"inline": 0}}); err == nil {
		t.Error("a share of 0 keys is accepted")
	}
}

// TestShareIsKeptByManyCallers checks that concurrent callers never exceed the share, and that no part of the share
// is lost.
func TestShareIsKeptByManyCallers(t *testing.T) {
	s, err := memstore.New(memstore.Config{MaxKeys: 100_000, MaxKeysOf: map[string]int{"inline": 500}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	limit := rule.FixedWindow(rule.PerDay(1))
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			for i := range 500 {
				_ = allowIn(t, s, "inline", fmt.Sprint(caller, "-", i), limit)
			}
		})
	}
	callers.Wait()
	if n := s.Stats().Keys; n != 500 {
		t.Errorf("%d keys, want 500", n)
	}
}
