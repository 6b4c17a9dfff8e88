package prefetch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/prefetch"
)

// Two versions of a limit share one counter, and therefore one set of prefetched units: units held under one version
// are returned before a request under the other version.
func TestVersionsShareTheirPrefetchedUnits(t *testing.T) {
	larger := rule.TokenBucket(rule.Per(100, 10*time.Second))
	smaller := rule.TokenBucket(rule.Per(100, 10*time.Second), rule.Burst(60))
	other := rule.FixedWindow(rule.PerHour(100))
	synctest.Test(t, func(t *testing.T) {
		s := share(t)
		ctx := context.Background()
		held, l := process(t, s, prefetch.Config{Limits: []engine.Limit{larger, smaller, other}, Life: 10 * time.Second, MaxUnits: 1000, HotAfter: 1})
		defer held.Close()
		time.Sleep(time.Minute)
		allow := func(limit engine.Limit, want engine.Mode) headgate.Decision {
			t.Helper()
			d, err := l.PolicyOf("", limit).Allow(ctx, "k")
			if err != nil || !d.Allowed || d.Promise.Mode != want {
				t.Fatalf("%v: %+v, %v; want it allowed, %s", limit, d, err, want)
			}
			return d
		}
		left := func() int64 {
			t.Helper()
			d, err := headgate.New(headgate.WithStore(s)).PolicyOf("", larger).Peek(ctx, "k", 1)
			if err != nil {
				t.Fatal(err)
			}
			return d.Remaining
		}
		allow(larger, engine.Exact)
		allow(larger, engine.Exact) // and prefetches half of the rest
		allow(larger, engine.Leased)
		if n := left(); n > 60 {
			t.Fatalf("%d left at the store: nothing was taken ahead", n)
		}
		// The other version finds these units returned: it takes one unit of 97.
		if d := allow(smaller, engine.Exact); d.Remaining != 56 || left() != 96 {
			t.Errorf("%d left under the smaller version, %d at the store; want 56 and 96", d.Remaining, left())
		}
		if n := held.Stats().Returned; n == 0 {
			t.Error("nothing was returned")
		}
		// A limit with a different grid uses a different counter, so it takes no units from the first limit's counter.
		allow(other, engine.Exact)
		if n := left(); n != 96 {
			t.Errorf("%d left, want 96", n)
		}
	})
}
