package denycache_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/denycache"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/storetest"
)

// Regression: bug 42. A denial is cached under a copy of its key. After the caller has overwritten the key's bytes, the
// denial is found under its own key and not under another one.
func TestDenialKeepsACopyOfItsKey(t *testing.T) {
	limit := rule.TokenBucket(rule.PerSecond(10), rule.Burst(1))
	clock := headgatetest.NewClock()
	memory, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	layer, err := denycache.New(memory, denycache.Config{MaxStale: time.Minute, Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	const hot, cold = 500, 4000
	take := func(store engine.Store, kind string, n int) engine.Answer {
		t.Helper()
		results := make([]engine.Answer, 1)
		store.Do(context.Background(), []engine.Op{engine.Single(engine.OpAllow, fmt.Sprintf("%s-%04d", kind, n), limit, 1)}, results)
		if results[0].Err != nil {
			t.Fatal(results[0].Err)
		}
		return results[0]
	}
	here := storetest.Borrow(layer)
	for n := range hot {
		take(here, "warm", n)
		take(here, "warm", n) // denied: the layer caches the denial
	}
	clock.Advance(100 * time.Millisecond)
	for n := range hot {
		take(memory, "warm", n) // another process takes the token first
		if d := take(here, "warm", n); d.Allowed || d.Promise.Mode != engine.Exact {
			t.Fatalf("the denial was not requested again: %+v", d)
		}
	}
	for n := range hot {
		if d := take(here, "warm", n); d.Allowed || d.Promise.Mode != engine.Cached {
			t.Errorf("warm-%04d: its denial is lost: %+v", n, d)
		}
	}
	denied := 0
	for n := range cold {
		if !take(here, "cold", n).Allowed {
			denied++
		}
	}
	if denied > 0 {
		t.Errorf("%d of %d keys were denied although no request had named them before", denied, cold)
	}
}
