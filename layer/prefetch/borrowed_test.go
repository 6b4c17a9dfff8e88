package prefetch_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/storetest"
)

// Regression: bug 42. Units are spent from and returned to the keys of their charge, even after the callers have overwritten
// those keys' bytes.
func TestUnitsKeepACopyOfTheirKey(t *testing.T) {
	limit := rule.FixedWindow(rule.PerHour(1000))
	synctest.Test(t, func(t *testing.T) {
		s := share(t)
		layer, err := prefetch.New(s, join(t, s), prefetch.Config{Limits: []engine.Limit{limit}, Life: time.Second, MaxUnits: 100, HotAfter: 1})
		if err != nil {
			t.Fatal(err)
		}
		here := storetest.Borrow(layer)
		time.Sleep(settled)
		const keys, asks = 200, 6
		ask := func(store engine.Store, kind engine.Kind, n int) engine.Answer {
			t.Helper()
			op := engine.Op{Kind: kind, Space: "s", Key: fmt.Sprintf("key-%03d", n), Charges: []engine.Charge{{Limit: limit, Cost: 1}}}
			results := make([]engine.Answer, 1)
			store.Do(context.Background(), []engine.Op{op}, results)
			if results[0].Err != nil || !results[0].Allowed {
				t.Errorf("%s: %+v", op.Key, results[0])
			}
			return results[0]
		}
		leased := 0
		for n := range keys {
			for range asks {
				if ask(here, engine.OpAllow, n).Promise.Mode == engine.Leased {
					leased++
				}
			}
		}
		if leased < keys*asks/2 {
			t.Errorf("%d of %d were leased", leased, keys*asks)
		}
		if err := here.Close(); err != nil {
			t.Fatal(err)
		}
		for n := range keys {
			if d := ask(s.Store, engine.OpPeek, n); d.Binds().Remaining != 1000-asks {
				t.Errorf("key-%03d: %d left, want %d", n, d.Binds().Remaining, 1000-asks)
			}
		}
	})
}
