package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// runShares checks that an OpAtMost with a share charges that share of the remaining units, or one unit if the share
// amounts to less, and that its denial reports the usual state and waits. Prefetch takes units in this way, so that the
// first process does not take all of them.
func runShares(t *testing.T, o Options) {
	t.Helper()
	for _, limit := range []engine.Limit{
		rule.TokenBucket(rule.PerHour(100)),
		rule.FixedWindow(rule.PerHour(100)),
		rule.SlidingWindow(rule.PerHour(100)),
		rule.SlidingLog(rule.PerHour(100)),
	} {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		store := o.New(t, func() time.Time { return now })
		left := int64(100)
		for _, c := range []struct{ cost, share, want int64 }{
			{1000, 4, 25}, {1000, 4, 18}, {5, 4, 5}, {1000, 3, 17}, {1000, 65535, 1}, {1000, 33, 1}, {1000, 1, 33}, {1000, 2, 0},
		} {
			ops := []engine.Op{{Kind: engine.OpAtMost, Space: "s", Key: "k", Share: c.share, Charges: []engine.Charge{{Limit: limit, Cost: c.cost}}}}
			results := make([]engine.Answer, 1)
			store.Do(context.Background(), ops, results)
			left -= c.want
			d := results[0]
			if results[0].Err != nil || d.Granted != c.want || d.Allowed != (c.want > 0) || d.Binds().Remaining != left {
				t.Errorf("%v, up to %d of a share of 1/%d: %d granted, %d left, %v; want %d and %d", limit, c.cost, c.share, d.Granted, d.Binds().Remaining, results[0].Err, c.want, left)
			}
		}
	}
}
