package memory

import (
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/linearize"
	"github.com/headgate/headgate/lab/scenarios"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/layer/membership"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/storetest"
)

// A store wrapped in group commit passes all cases of storetest and scenarios.
func TestBatch(t *testing.T) {
	memory := func(t *testing.T, now func() time.Time) engine.Store {
		t.Helper()
		store, err := memstore.New(memstore.Config{Clock: now, MaxKeys: testbed.Keys})
		if err != nil {
			t.Fatal(err)
		}
		return testbed.Together(t, store)
	}
	scenarios.Run(t, storetest.Options{New: memory})
	for _, limit := range linearize.Limits() {
		t.Run(limit.String(), func(t *testing.T) { linearize.Check(t, limit, linearize.Record(memory(t, nil), limit, 64)) })
	}
}

// A store wrapped in prefetch also passes all cases, for limits that are not prefetched.
func TestLease(t *testing.T) {
	scenarios.Run(t, storetest.Options{New: func(t *testing.T, now func() time.Time) engine.Store {
		t.Helper()
		store, err := memstore.New(memstore.Config{Clock: now, MaxKeys: testbed.Keys})
		if err != nil {
			t.Fatal(err)
		}
		other := rule.TokenBucket(rule.PerSecond(123_457))
		member, err := membership.New(store, membership.Config{})
		if err != nil {
			t.Fatal(err)
		}
		layer, err := prefetch.New(testbed.Together(t, store), member, prefetch.Config{Limits: []engine.Limit{other}, Life: time.Second, MaxUnits: 10})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = layer.Close() })
		return layer
	}})
}

// A store wrapped in the fallback layer also passes all cases while it is up.
func TestFallback(t *testing.T) {
	scenarios.Run(t, storetest.Options{New: func(t *testing.T, now func() time.Time) engine.Store {
		t.Helper()
		memory := memstore.Config{Clock: now, MaxKeys: testbed.Keys}
		next, err := memstore.New(memory)
		if err != nil {
			t.Fatal(err)
		}
		member, err := membership.New(next, membership.Config{Clock: now})
		if err != nil {
			t.Fatal(err)
		}
		store, err := fallback.New(next, member, fallback.Config{Memory: memory})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		return store
	}})
}
