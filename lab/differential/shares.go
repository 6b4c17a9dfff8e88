package differential

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/model"
)

// shareKinds maps the kinds of operations that [RunShares] uses to their names in the model.
var shareKinds = map[engine.Kind]string{
	engine.OpAllow: model.Take, engine.OpPeek: model.Peek, engine.OpAtMost: model.AtMost, engine.OpGive: model.Give,
}

// RunShares sends calls with many operations on fair-share limits to a store, and compares each answer with the
// model's. It uses more keys than a limit distinguishes, and alternates between two counters. The run is so long that
// parts shrink many times. If the seed is odd, a nested limit uses one of the counters.
func RunShares(t *testing.T, store engine.Store, clock *headgatetest.Clock, seed uint64, calls int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 5))
	space, subject := fmt.Sprintf("shares-%d", seed), model.New()
	burst := []int64{20, 300, 2000}[seed%3]
	for call := range calls {
		clock.Advance(time.Duration(r.Int64N(400)) * time.Microsecond) // the refill is slightly less than the demand
		now := clock.Now().UnixMicro()
		ops, wants := make([]engine.Op, 40), make([]model.Answer, 40)
		for i := range ops {
			pool := r.IntN(2)
			key := fmt.Sprint("key ", r.IntN([]int{4, 1000, 1000, 1000}[r.IntN(4)]))
			weight, cost := 1+r.Int64N(3), 1+r.Int64N(3)
			kind := []engine.Kind{engine.OpAllow, engine.OpAllow, engine.OpAllow, engine.OpPeek, engine.OpAtMost, engine.OpGive}[r.IntN(6)]
			settings := []engine.Setting{rule.Burst(burst), rule.Weight(int(weight))}
			nested := uint64(pool) < seed%2
			if nested {
				key = fmt.Sprint("group ", r.IntN(9), ":", key)
				settings = append(settings, engine.Setting{Field: "nested"})
			}
			limit := rule.FairShare(rule.Per(1000, 10*time.Millisecond), settings...)
			ops[i] = engine.Single(kind, key, limit, cost)
			ops[i].Space = fmt.Sprint(space, "-", pool)
			wants[i] = subject.Apply([]model.Limit{{
				Algorithm: model.FairShare, Name: fmt.Sprint(pool), Key: key, Count: 1000, PeriodUS: 10_000, Burst: burst, FairFields: model.FairFields{Weight: weight, Nested: nested},
			}}, shareKinds[kind], cost, now)
		}
		results := make([]engine.Answer, len(ops))
		store.Do(context.Background(), ops, results)
		for i := range results {
			d, want := &results[i], &wants[i]
			wait := want.RetryAfterUS == nil && d.Binds().RetryAfter == headgate.Never || want.RetryAfterUS != nil && d.Binds().RetryAfter.Microseconds() == *want.RetryAfterUS
			same := d.Allowed == want.Allowed && d.Binds().Remaining == want.Remaining && wait && d.Binds().ResetAfter.Microseconds() == want.ResetAfterUS &&
				(want.Granted == nil || *want.Granted == d.Granted)
			if results[i].Err != nil || !same {
				t.Fatalf("seed %d, call %d, operation %d: %s %d of %s by %s:\n got %+v, %v\nwant %+v", seed, call, i, ops[i].Kind, ops[i].Charges[0].Cost,
					ops[i].Charges[0].Limit, ops[i].Key, d, results[i].Err, want)
			}
		}
	}
}
