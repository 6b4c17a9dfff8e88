package batch_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/batch"
	"github.com/headgate/headgate/memstore"
)

// late is a store that decides at once, but answers after a delay.
type late struct {
	engine.Store
	after time.Duration
}

func (l late) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	l.Store.Do(ctx, ops, results)
	select {
	case <-time.After(l.after):
	case <-ctx.Done():
		for i := range results {
			results[i] = engine.Answer{Err: ctx.Err()}
		}
	}
}

// Units taken for callers that left before the answer are given back by a settlement, for each kind of operation.
// If there is no answer, the units stay spent. In the meantime, other calls use the slots of calls whose callers have
// left (regression: bug 60).
func TestLateAnswersAreGivenBack(t *testing.T) {
	bucket := rule.TokenBucket(rule.PerSecond(1), rule.Burst(100))
	for after, want := range map[time.Duration][2]int64{
		500 * time.Millisecond: {100, 5},
		3 * time.Second:        {74, 2}, // after a refill of 4 s
	} {
		synctest.Test(t, func(t *testing.T) {
			memory, err := memstore.New(memstore.Config{Clock: time.Now})
			if err != nil {
				t.Fatal(err)
			}
			store, err := batch.New(late{memory, after}, batch.Config{InFlight: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			ask := func(within time.Duration, op engine.Op) {
				op.Space = "s"
				ctx, cancel := context.WithTimeout(t.Context(), within)
				defer cancel()
				results := make([]engine.Answer, 1)
				if store.Do(ctx, []engine.Op{op}, results); !errors.Is(results[0].Err, headgate.ErrOutcomeUnknown) {
					t.Errorf("%v: %+v", op.Kind, results[0])
				}
			}
			go ask(20*time.Millisecond, engine.Single(engine.OpReserve, "k", bucket, 10)) // the call that the other callers left no longer occupies a slot
			synctest.Wait()
			for _, op := range []engine.Op{engine.Single(engine.OpAllow, "k", bucket, 10), engine.Single(engine.OpAtMost, "k", bucket, 10), engine.Single(engine.OpCount, "k", five, 3)} {
				go ask(40*time.Millisecond, op)
			}
			time.Sleep(4 * time.Second)
			for i, limit := range []engine.Limit{bucket, five} {
				op := engine.Single(engine.OpPeek, "k", limit, 0)
				op.Space = "s"
				results := make([]engine.Answer, 1)
				if memory.Do(t.Context(), []engine.Op{op}, results); results[0].Binds().Remaining != want[i] {
					t.Errorf("answers after %v: %d are left of %s, want %d", after, results[0].Binds().Remaining, limit, want[i])
				}
			}
		})
	}
}

// If the caller of a list leaves before the answer, the list's units are given back, but its permit is kept: a share
// may have granted the permit under the same ID, and then the store must keep its permit too.
func TestLatePermitsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, err := memstore.New(memstore.Config{Clock: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		store, err := batch.New(late{memory, 500 * time.Millisecond}, batch.Config{InFlight: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		list := engine.Op{Kind: engine.OpReserve, Space: "s", Key: "k", ID: "holder", Charges: []engine.Charge{
			{Limit: five, Cost: 3}, {Limit: rule.Concurrency(2), Cost: 1, Key: "org"},
		}}
		results := make([]engine.Answer, 1)
		if store.Do(ctx, []engine.Op{list}, results); !errors.Is(results[0].Err, headgate.ErrOutcomeUnknown) {
			t.Errorf("%+v", results[0])
		}
		time.Sleep(4 * time.Second)
		list.Kind, list.ID, list.Charges[0].Cost, list.Charges[1].Cost = engine.OpPeek, "", 0, 0
		results = make([]engine.Answer, 1)
		memory.Do(t.Context(), []engine.Op{list}, results)
		if l := &results[0]; l.Len() != 2 || l.Of(0).Remaining != 5 || l.Of(1).Remaining != 1 {
			t.Errorf("%+v; want 5 units and one of two permits left", l)
		}
	})
}

// While a store hangs, the number of calls that continue after their callers have given up is bounded.
func TestLateCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, store, l := start(t, batch.Config{InFlight: 1})
		defer store.Close()
		for range 200 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if _, _, err := l.PolicyOf("", five).Reserve(ctx, "k", 1); !errors.Is(err, headgate.ErrOutcomeUnknown) {
				t.Error(err)
			}
			cancel()
			synctest.Wait()
		}
		if waiting := store.Stats().Waiting; waiting != 64 {
			t.Errorf("%d operations are in flight, want 64", waiting)
		}
		close(g.open)
		time.Sleep(time.Second)
		if waiting := store.Stats().Waiting; waiting != 0 {
			t.Errorf("%d operations are in flight, want none", waiting)
		}
		if d, err := l.PolicyOf("", five).Peek(context.Background(), "k", 1); err != nil || d.Remaining != 5 {
			t.Errorf("%+v, %v: want all units back", d, err)
		}
	})
}
