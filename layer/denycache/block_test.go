package denycache_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/denycache"
)

// A blocked key is denied without the store, whatever the cost, until the denial reaches its maximum age. A reset of
// the key ends the block at once.
func TestBlockIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := start(t, denycache.Config{MaxStale: time.Second})
		policy := l.PolicyOf("api", rule.TokenBucket(rule.PerMinute(1), rule.Burst(2)), rule.Penalty(rule.PerMinute(3), rule.Block(10*time.Second)))
		take := func(cost int64) headgate.Decision {
			t.Helper()
			d, err := policy.AllowN(context.Background(), "flood", cost)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		take(1)
		for range 5 {
			take(1)
		}
		blocked, asked := take(1), f.asked
		if blocked.Allowed || blocked.RetryAfter > 10*time.Second || blocked.RetryAfter < 8*time.Second {
			t.Fatalf("%+v; want a block of 8.75 to 10 s", blocked)
		}
		for i := range 100 {
			d := take(1 + int64(i%2))
			if d.Allowed || d.Promise.Mode != engine.Cached || d.RetryAfter > blocked.RetryAfter || len(d.Limits) != 2 {
				t.Fatalf("%+v; want the block, repeated", d)
			}
			time.Sleep(time.Millisecond)
		}
		if f.asked != asked {
			t.Errorf("the store was asked %d times while the key was blocked", f.asked-asked)
		}
		time.Sleep(time.Second)
		if d := take(1); d.Promise.Mode == engine.Cached || f.asked != asked+1 {
			t.Errorf("%+v after %d calls; want the store's answer after a second", d, f.asked-asked)
		}
		if _, err := policy.Reset(context.Background(), "flood"); err != nil {
			t.Fatal(err)
		}
		if d := take(1); !d.Allowed {
			t.Errorf("%+v; want an allowed request after the reset", d)
		}
	})
}
