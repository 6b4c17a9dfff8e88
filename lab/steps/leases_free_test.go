package steps

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/lab/differential"
	"github.com/headgate/headgate/lab/model"
	"github.com/headgate/headgate/lab/script"
	"github.com/headgate/headgate/memstore"
)

// TestLeasesFree is a differential test for permits where everything changes: holders acquire different numbers of
// units, limits and lease times change, and the clock goes back.
func TestLeasesFree(t *testing.T) {
	for name, options := range map[string]script.Options{
		"forward": {},
		"clock":   {ClockSteps: true},
		"changes": {Changes: true},
		"times":   {Extras: true},
		"all":     {ClockSteps: true, Changes: true, Extras: true},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range max(20, *differential.Steps/differential.CaseSteps) {
				differFreely(t, options, *differential.Seed+uint64(i))
			}
		})
	}
}

func differFreely(t *testing.T, options script.Options, seed uint64) {
	t.Helper()
	c := script.GenerateLeases(rand.New(rand.NewPCG(seed, 2)), differential.CaseSteps, options)
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	subject := model.New()
	for i, s := range c.Steps {
		limit := c.Limits[s.Limit]
		s.Cost = max(1, s.Cost) // acquiring nothing is rejected before any store is called
		want := subject.ApplyLease(limit, s)
		clock.Set(time.UnixMicro(s.AtUS))
		results := make([]engine.Answer, 1)
		store.Do(t.Context(), []engine.Op{differential.LeaseOp("leases", limit, s)}, results)
		d := results[0]
		got := model.Answer{
			Allowed: d.Allowed, Limit: d.Binds().Limit, Remaining: d.Binds().Remaining, ResetAfterUS: d.Binds().ResetAfter.Microseconds(),
			RetryAfterUS: retryOf(d), Held: d.Binds().HeldByAll, Own: d.Binds().HeldByKey, Heavy: d.Binds().HeavyKeys,
		}
		if s.Op == model.Release || s.Op == model.Held {
			got.Allowed, got.RetryAfterUS = want.Allowed, want.RetryAfterUS // these operations have no cost
		}
		if results[0].Err != nil || !got.Equal(want) {
			t.Fatalf("seed %d step %d: %s %s %d, lease %d µs, limit %d (%v):\n got %s\nwant %s",
				seed, i, s.Op, s.ID, s.Cost, s.LeaseUS, limit.Limit, results[0].Err, got, want)
		}
	}
}

func retryOf(d engine.Answer) *int64 {
	if d.Binds().RetryAfter == headgate.Never {
		return nil
	}
	return new(d.Binds().RetryAfter.Microseconds())
}
