package fallback_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/fallback"
)

// twoMasters is a store with two masters. Keys that begin with "b" are on a master that can be down.
type twoMasters struct {
	*server
	away atomic.Bool
}

func masterOf(op *engine.Op, charge int) int {
	_, key := op.Subject(charge)
	if strings.HasPrefix(key, "b") || key == "probe1" {
		return 1
	}
	return 0
}

func (s *twoMasters) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	for i := range ops {
		away := false
		for j := range ops[i].Charges {
			away = away || s.away.Load() && masterOf(&ops[i], j) == 1
		}
		if away {
			results[i].Err = headgate.ErrStoreUnavailable
			continue
		}
		s.server.Do(ctx, ops[i:i+1], results[i:i+1])
	}
}

// If one master of a Cluster is down, keys on other masters have no outage and no added latency (regression: bug 61:
// five failures in a row on one master opened the breaker for all).
func TestOneMasterAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &twoMasters{server: newServer(t)}
		store, err := fallback.New(s, join(t, s, nil), fallback.Config{Expect: 2, Lanes: 2, Lane: masterOf})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		time.Sleep(62 * time.Second)
		limit := rule.FixedWindow(rule.PerMinute(10_000))
		allow := func(key string) *engine.Answer {
			t.Helper()
			r := do(t, store, engine.Single(engine.OpAllow, key, limit, 1))
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			return r
		}
		s.away.Store(true)
		// A failed request that needs both masters does not show which one is down, so both are tested.
		both := engine.Op{Key: "a", Charges: []engine.Charge{{Limit: limit, Cost: 1}, {Limit: limit, Cost: 1, Key: "b"}}}
		for range 10 {
			if r := do(t, store, both); r.Err != nil || r.Promise.Mode != engine.Fallback {
				t.Fatalf("a request on both masters: %+v", r)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if stats := store.Stats(); !stats.Away || allow("a").Promise.Mode != engine.Exact {
			t.Errorf("after requests on both masters: %+v", stats)
		}
		for range 50 {
			if mode := allow("b").Promise.Mode; mode != engine.Fallback {
				t.Fatalf("a key of the master that is away: %s", mode)
			}
			if mode := allow("a").Promise.Mode; mode != engine.Exact {
				t.Fatalf("a key of another master: %s", mode)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if stats := store.Stats(); !stats.Away || stats.Outages != 1 || stats.Processes != 1 {
			t.Errorf("%+v", stats)
		}
		// In one call with operations for both masters, each part is decided separately.
		ops := []engine.Op{engine.Single(engine.OpAllow, "a", limit, 1), engine.Single(engine.OpAllow, "b", limit, 1)}
		ops[0].Space, ops[1].Space = "s", "s"
		results := make([]engine.Answer, 2)
		store.Do(t.Context(), ops, results)
		if results[0].Promise.Mode != engine.Exact || results[1].Promise.Mode != engine.Fallback {
			t.Errorf("%+v", results)
		}
		s.away.Store(false)
		time.Sleep(2 * time.Second)
		if mode := allow("b").Promise.Mode; mode != engine.Exact || store.Stats().Away {
			t.Errorf("the master is back: %s", mode)
		}
	})
}

// If there are fewer shards than lanes, most lanes contain no key. A server that kept looking for a key for each lane
// would never start.
func TestLanesWithoutKeys(t *testing.T) {
	s := newServer(t)
	store, err := fallback.New(s, join(t, s, nil), fallback.Config{Lanes: 64, Lane: func(*engine.Op, int) int { return 7 }})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}
