package conform

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/conform/model"
	"github.com/headgate/headgate/conform/script"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
)

// TestLeasesDifferential sends random scripts of a concurrency limit through the memory
// store and the model. A holder acquires the same units each time, the clock goes forward
// and the numbers do not change. What an acquire of other units means, and whether a peek
// shortens permits that end too late, is each side's own choice.
func TestLeasesDifferential(t *testing.T) {
	for i := range max(1, *steps/caseSteps) {
		differLeases(t, *seed+uint64(i))
	}
}

var leaseKinds = map[string]engine.Kind{
	model.Acquire: engine.OpAcquire, model.Renew: engine.OpRenew, model.Release: engine.OpRelease, model.Held: engine.OpPeek,
}

func differLeases(t *testing.T, seed uint64) {
	t.Helper()
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	differLeasesOn(t, store, clock, seed)
}

// differLeasesOn runs one script on a store, in its own name space.
func differLeasesOn(t *testing.T, store engine.Store, clock *headgatetest.Clock, seed uint64) {
	t.Helper()
	c := script.GenerateLeases(rand.New(rand.NewPCG(seed, 1)), caseSteps, script.Options{})
	space := fmt.Sprintf("leases-%d", seed)
	subject := model.New()
	for i, s := range c.Steps {
		limit := c.Limits[s.Limit]
		s.Cost = 1 + int64(s.ID[1]-'0')%3
		want := subject.ApplyLease(limit, s)
		clock.Set(time.UnixMicro(s.AtUS))
		ours := headgate.Concurrency(limit.Limit, headgate.LeaseTime(time.Duration(s.LeaseUS)*time.Microsecond))
		op := engine.Op{Kind: leaseKinds[s.Op], Space: space, Key: "k", ID: s.ID, Charges: []engine.Charge{{Limit: ours, Cost: s.Cost}}}
		if s.Op == model.Held {
			op.Charges[0].Cost = 0
		}
		results := make([]engine.Result, 1)
		store.Do(t.Context(), []engine.Op{op}, results)
		d := results[0].Outcome
		same := d.Remaining == want.Remaining && d.ResetAfter.Microseconds() == want.ResetAfterUS
		if s.Op == model.Acquire || s.Op == model.Renew {
			same = same && d.Allowed == want.Allowed
		}
		if s.Op == model.Acquire && want.RetryAfterUS != nil {
			same = same && d.RetryAfter.Microseconds() == *want.RetryAfterUS
		}
		if results[0].Err != nil || !same {
			t.Fatalf("seed %d step %d: %+v of %+v:\n got %+v, %v\nwant %+v", seed, i, s, limit, d, results[0].Err, want)
		}
	}
}

// FuzzSteps lets the fuzzer choose the script: whatever it is, the store and
// the model agree.
func FuzzSteps(f *testing.F) {
	for i := range uint64(10) {
		f.Add(i, byte(i), byte(i*7))
	}
	f.Fuzz(func(t *testing.T, seed uint64, algorithm, options byte) {
		has := func(bit int) bool { return options&(1<<bit) != 0 }
		differ(t, script.Algorithms[int(algorithm)%len(script.Algorithms)], script.Options{
			ClockSteps: has(0) && !has(2), Changes: has(1), All: has(2), Big: has(3), Extras: has(4),
		}, seed)
		differLeases(t, seed)
	})
}
