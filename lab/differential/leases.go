package differential

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/model"
	"github.com/headgate/headgate/lab/script"
)

var LeaseKinds = map[string]engine.Kind{
	model.Acquire: engine.OpAcquire, model.Renew: engine.OpRenew, model.Release: engine.OpRelease, model.Held: engine.OpPeek,
}

// LeaseOp returns the operation for a step.
func LeaseOp(space string, l model.Limit, s model.LeaseStep) engine.Op {
	return engine.Op{
		Kind: LeaseKinds[s.Op], Space: space, Key: "k" + l.Key, ID: s.ID, Charges: []engine.Charge{{Limit: leaseLimit(l, s), Cost: s.Cost}},
	}
}

func leaseLimit(l model.Limit, s model.LeaseStep) engine.Limit {
	lease := rule.LeaseTime(time.Duration(s.LeaseUS) * time.Microsecond)
	if l.Algorithm == model.FairConcurrency {
		return rule.FairConcurrency(l.Limit, lease, rule.Weight(int(l.Weight)))
	}
	return rule.Concurrency(l.Limit, lease)
}

// RunLeases runs one script on a store, in its own namespace.
func RunLeases(t *testing.T, store engine.Store, clock *headgatetest.Clock, seed uint64) {
	t.Helper()
	c := script.GenerateLeases(rand.New(rand.NewPCG(seed, 1)), CaseSteps, script.Options{})
	space := fmt.Sprintf("leases-%d", seed)
	subject := model.New()
	for i, s := range c.Steps {
		limit := c.Limits[s.Limit]
		s.Cost = 1 + int64(s.ID[1]-'0')%3
		want := subject.ApplyLease(limit, s)
		clock.Set(time.UnixMicro(s.AtUS))
		op := LeaseOp(space, limit, s)
		if s.Op == model.Held {
			op.Charges[0].Cost = 0
		}
		results := make([]engine.Answer, 1)
		store.Do(t.Context(), []engine.Op{op}, results)
		d := results[0]
		same := d.Binds().Remaining == want.Remaining && d.Binds().ResetAfter.Microseconds() == want.ResetAfterUS &&
			d.Binds().HeldByAll == want.Held && d.Binds().HeldByKey == want.Own && d.Binds().HeavyKeys == want.Heavy
		if s.Op == model.Acquire || s.Op == model.Renew {
			same = same && d.Allowed == want.Allowed
		}
		if s.Op == model.Acquire && want.RetryAfterUS != nil {
			same = same && d.Binds().RetryAfter.Microseconds() == *want.RetryAfterUS
		}
		if results[0].Err != nil || !same {
			t.Fatalf("seed %d step %d: %+v of %+v:\n got %+v, %v\nwant %+v", seed, i, s, limit, d, results[0].Err, want)
		}
	}
}
