package stack_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/operate"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/batch"
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

// The rules of every store hold with all layers together. Prefetching a limit that no request uses changes nothing.
func TestAllLayersKeepTheRulesOfAStore(t *testing.T) {
	other := rule.FixedWindow(rule.PerSecond(77))
	storetest.Run(t, storetest.Options{New: func(t *testing.T, now func() time.Time) engine.Store {
		behind := memory(t, now)
		store, err := stack.New(behind, behind, stack.Config{Prefetch: prefetch.Config{Limits: []engine.Limit{other}, Life: time.Second, MaxUnits: 1}})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}})
}

// Each layer answers its own operations: prefetch those on the named limits, and the deny cache denials of all
// others.
func TestEachLayerAnswersItsOwnOperations(t *testing.T) {
	hot := rule.FixedWindow(rule.PerHour(20))
	cold := rule.FixedWindow(rule.PerHour(1), rule.Named("cold"))
	synctest.Test(t, func(t *testing.T) {
		behind := memory(t, time.Now)
		store, err := stack.New(behind, behind, stack.Config{
			MaxStale: time.Minute,
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
				d, err := operate.Policy(l, "", limit).Allow(context.Background(), "k")
				if err != nil {
					t.Fatal(err)
				}
				counts[d.Promise.Mode]++
			}
			return counts
		}
		if got := modes(hot, 30); got[engine.Leased] < 5 || got[engine.Cached] != 0 {
			t.Errorf("leased: %v", got)
		}
		if got := modes(cold, 5); got[engine.Cached] != 3 || got[engine.Leased] != 0 {
			t.Errorf("not leased: %v", got)
		}
	})
}

// Settings that a layer rejects are an error, and the store stays open.
func TestConfigIsChecked(t *testing.T) {
	behind := memory(t, time.Now)
	defer behind.Close()
	limit := rule.FixedWindow(rule.PerSecond(1))
	for field, c := range map[string]stack.Config{
		"in_flight": {Batch: batch.Config{InFlight: -1}},
		"max_stale": {MaxStale: -time.Second},
		"life":      {Prefetch: prefetch.Config{Limits: []engine.Limit{limit}}},
	} {
		var bad *engine.InputError
		if _, err := stack.New(behind, behind, c); !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%+v: %v, want an InputError about %s", c, err, field)
		}
	}
	alone, err := stack.New(behind, nil, stack.Config{WithoutBatch: true})
	if err != nil || alone != engine.Store(behind) {
		t.Errorf("no layers: %v, %v", alone, err)
	}
}
