package conform

import (
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/batch"
	"github.com/headgate/headgate/layer/denycache"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/storetest"
)

// together puts group commit in front of a store, with so few calls in flight that most
// operations share one.
func together(t testing.TB, store engine.Store) engine.Store {
	t.Helper()
	layer, err := batch.New(store, batch.Config{InFlight: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = layer.Close() })
	return layer
}

// A store with group commit in front of it passes all cases of a store.
func TestBatch(t *testing.T) {
	memory := func(t *testing.T, now func() time.Time) engine.Store {
		t.Helper()
		store, err := memstore.New(memstore.Config{Clock: now})
		if err != nil {
			t.Fatal(err)
		}
		return together(t, store)
	}
	storetest.Run(t, storetest.Options{New: memory})
	for _, limit := range linearLimits() {
		t.Run(limit.String(), func(t *testing.T) { isLinear(t, limit, record(memory(t, nil), limit, 64)) })
	}
}

// batchOnRedis is TestBatch on Redis.
func batchOnRedis(t *testing.T, d deployment, open func(testing.TB, redisstore.Config) *redisstore.Store) {
	t.Helper()
	storetest.Run(t, storetest.Options{Once: !*everyClient, New: func(t *testing.T, now func() time.Time) engine.Store {
		own := prefix()
		return together(t, audit(t, open(t, redisstore.Config{Prefix: own, Clock: now}), own, d.holders()))
	}})
	for _, limit := range linearLimits() {
		isLinear(t, limit, record(together(t, open(t, redisstore.Config{Prefix: prefix()})), limit, 64))
	}
}

// So does a store with a deny cache in front of it, if all operations go through one
// process.
func TestNear(t *testing.T) {
	storetest.Run(t, storetest.Options{New: func(t *testing.T, now func() time.Time) engine.Store {
		t.Helper()
		store, err := memstore.New(memstore.Config{Clock: now})
		if err != nil {
			t.Fatal(err)
		}
		layer, err := denycache.New(together(t, store), denycache.Config{MaxStale: time.Hour, Clock: now})
		if err != nil {
			t.Fatal(err)
		}
		return layer
	}})
}

// So does a store with prefetch in front of it, for limits that are not prefetched.
func TestLease(t *testing.T) {
	storetest.Run(t, storetest.Options{New: func(t *testing.T, now func() time.Time) engine.Store {
		t.Helper()
		store, err := memstore.New(memstore.Config{Clock: now})
		if err != nil {
			t.Fatal(err)
		}
		other := headgate.TokenBucket(headgate.PerSecond(123_457))
		layer, err := prefetch.New(together(t, store), store, prefetch.Config{Limits: []headgate.Limit{other}, Life: time.Second, MaxUnits: 10})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = layer.Close() })
		return layer
	}})
}
