package stack_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/batch"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/layer/membership"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/layer/stack"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/storetest"
)

func memory(t *testing.T, now func() time.Time) *memstore.Store {
	t.Helper()
	store, err := memstore.New(memstore.Config{Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// A store wrapped in group commit and prefetch passes the tests for stores. No request uses the only prefetched limit,
// so prefetch must not change any answer.
func TestAllLayersKeepTheRulesOfAStore(t *testing.T) {
	other := rule.FixedWindow(rule.PerSecond(77))
	storetest.Run(t, storetest.Options{New: func(t *testing.T, now func() time.Time) engine.Store {
		next := memory(t, now)
		store, err := stack.New(next, next, stack.Config{Prefetch: prefetch.Config{Limits: []engine.Limit{other}, Life: time.Second, MaxUnits: 1}})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}})
}

// Prefetch answers operations on the named limits, and the store those on all other limits.
func TestEachLayerAnswersItsOwnOperations(t *testing.T) {
	hot := rule.FixedWindow(rule.PerHour(20))
	cold := rule.FixedWindow(rule.PerHour(1), rule.Named("cold"))
	synctest.Test(t, func(t *testing.T) {
		next := memory(t, time.Now)
		store, err := stack.New(next, next, stack.Config{
			Prefetch: prefetch.Config{Limits: []engine.Limit{hot}, Life: 10 * time.Second, MaxUnits: 100, HotAfter: 1},
		})
		if err != nil {
			t.Fatal(err)
		}
		l := headgate.New(headgate.WithStore(store))
		defer store.Close()
		time.Sleep(time.Minute)
		modes := func(limit engine.Limit, times int) map[engine.Mode]int {
			counts := map[engine.Mode]int{}
			for range times {
				d, err := l.PolicyOf("", limit).Allow(context.Background(), "k")
				if err != nil {
					t.Fatal(err)
				}
				counts[d.Promise.Mode]++
			}
			return counts
		}
		if got := modes(hot, 30); got[engine.Leased] < 5 {
			t.Errorf("leased: %v", got)
		}
		if got := modes(cold, 5); got[engine.Exact] != 5 {
			t.Errorf("not leased: %v", got)
		}
	})
}

// beats is a coordinator that counts the beats of all members, and records the names of their groups.
type beats struct {
	engine.Coordinator
	number atomic.Int64
	groups sync.Map
}

func (b *beats) Beat(ctx context.Context, group, member string, life time.Duration) ([]string, error) {
	b.number.Add(1)
	b.groups.Store(group, member)
	return b.Coordinator.Beat(ctx, group, member, life)
}

// kept is a store whose Close does nothing, so that the wrapped store can be used after the test closes the layers.
type kept struct{ engine.Store }

func (kept) Close() error { return nil }

// Prefetch and fallback share one membership: a process beats once a second, both layers count the same processes, and
// it leaves the group when the store is closed.
func TestLayersShareOneMembership(t *testing.T) {
	limit := rule.TokenBucket(rule.PerSecond(1000))
	synctest.Test(t, func(t *testing.T) {
		next := memory(t, time.Now)
		defer next.Close()
		coordinator := &beats{Coordinator: next}
		c := stack.Config{
			Prefetch:   prefetch.Config{Limits: []engine.Limit{limit}, Life: time.Second, MaxUnits: 100},
			Fallback:   &fallback.Config{},
			Membership: membership.Config{Group: "g"},
		}
		var all []engine.Store
		for range 2 {
			store, err := stack.New(kept{next}, coordinator, c)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, store)
		}
		time.Sleep(62500 * time.Millisecond)
		if n := coordinator.number.Load(); n != 126 {
			t.Errorf("%d beats of two processes in 62.5 s, want 126", n)
		}
		coordinator.groups.Range(func(group, _ any) bool {
			if group != "g" {
				t.Errorf("a beat in group %v", group)
			}
			return true
		})
		outer := all[0].(*fallback.Store)
		inner := outer.Unwrap().(*prefetch.Store)
		if shares, leases := outer.Stats().Processes, inner.Stats().Members; shares != 2 || leases != 2 {
			t.Errorf("shares of %d, leases of %d, want 2", shares, leases)
		}
		for i, store := range all {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
			if names, err := next.Beat(t.Context(), "g", "test", time.Second); err != nil || len(names) != len(all)-i {
				t.Errorf("after %d were closed: %v, %v", i+1, names, err)
			}
		}
	})
}

// Settings that a layer rejects cause an error, and the store stays open.
func TestConfigIsChecked(t *testing.T) {
	next := memory(t, time.Now)
	defer next.Close()
	limit := rule.FixedWindow(rule.PerSecond(1))
	for field, c := range map[string]stack.Config{
		"in_flight": {Batch: batch.Config{InFlight: -1}},
		"markers":   {Membership: membership.Config{Markers: -1}},
		"life":      {Prefetch: prefetch.Config{Limits: []engine.Limit{limit}}},
	} {
		var bad *engine.InputError
		if _, err := stack.New(next, next, c); !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%+v: %v, want an InputError about %s", c, err, field)
		}
	}
	// A store or coordinator that is not there ended the program in the background, and a layer's error came with a store
	// (regression).
	for field, made := range map[string]func() (engine.Store, error){
		"coordinator": func() (engine.Store, error) { return stack.New(next, nil, stack.Config{Fallback: &fallback.Config{}}) },
		"store":       func() (engine.Store, error) { return stack.New(nil, next, stack.Config{}) },
		"store is":    func() (engine.Store, error) { return stack.New((*memstore.Store)(nil), next, stack.Config{}) },
		"expect": func() (engine.Store, error) {
			return stack.New(next, next, stack.Config{Fallback: &fallback.Config{Expect: -1}})
		},
	} {
		if store, err := made(); err == nil || !strings.Contains(err.Error(), field) || store != nil {
			t.Errorf("%s: %v, %v", field, store, err)
		}
	}
	alone, err := stack.New(next, nil, stack.Config{WithoutBatch: true})
	if err != nil || alone != engine.Store(next) {
		t.Errorf("no layers: %v, %v", alone, err)
	}
}

// A layer that was made before the one with invalid settings ends: a bubble fails if a goroutine stays.
func TestLayersEndWithTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := memory(t, time.Now)
		defer next.Close()
		leases := prefetch.Config{Limits: []engine.Limit{rule.FixedWindow(rule.PerSecond(1))}, Life: time.Second, MaxUnits: 1}
		if _, err := stack.New(next, next, stack.Config{Prefetch: leases, Fallback: &fallback.Config{Expect: -1}}); !errors.Is(err, engine.ErrInvalid) {
			t.Error(err)
		}
	})
}
