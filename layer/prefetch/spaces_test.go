package prefetch_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/prefetch"
)

// An allow that can be settled goes to the store, because prefetched units could not be settled. A list goes to the
// store too, because it is charged in one step.
func TestSettledAllowIsNotPrefetched(t *testing.T) {
	limit := rule.TokenBucket(rule.Per(100, 10*time.Second))
	synctest.Test(t, func(t *testing.T) {
		held, _ := process(t, share(t), prefetch.Config{Spaces: map[string][]engine.Limit{"hot": {limit}}, Life: 10 * time.Second, MaxUnits: 1000, HotAfter: 1})
		defer held.Close()
		time.Sleep(time.Minute)
		for i, want := range []engine.Mode{engine.Exact, engine.Exact, engine.Leased, engine.Exact, engine.Exact, engine.Leased} {
			op := engine.Single(engine.OpAllow, "k", limit, 1)
			op.Space, op.Hints.Settled = "hot", i == 3
			if i == 4 {
				op.Charges = append(op.Charges, engine.Charge{Limit: limit, Cost: 1, Key: "other"})
			}
			results := make([]engine.Answer, 1)
			held.Do(context.Background(), []engine.Op{op}, results)
			if got := results[0].Promise.Mode; results[0].Err != nil || got != want {
				t.Errorf("request %d is answered %s, want %s: %v", i, got, want, results[0].Err)
			}
		}
	})
}

// SetSpaces returns the held units of limits that are no longer prefetched, and keeps all other units. The limits
// that it adds are prefetched from then on.
func TestSetSpacesReturnsUnitsOfDroppedLimits(t *testing.T) {
	const before, kept, added = "before", "kept", "added"
	limit := rule.TokenBucket(rule.Per(100, 10*time.Second))
	synctest.Test(t, func(t *testing.T) {
		s := share(t)
		ctx := context.Background()
		spaces := map[string][]engine.Limit{before: {limit}, kept: {limit}}
		held, _ := process(t, s, prefetch.Config{Spaces: spaces, Life: 10 * time.Second, MaxUnits: 1000, HotAfter: 1})
		defer held.Close()
		time.Sleep(time.Minute)
		mode := func(space string) engine.Mode {
			t.Helper()
			op := engine.Single(engine.OpAllow, "k", limit, 1)
			op.Space = space
			results := make([]engine.Answer, 1)
			held.Do(ctx, []engine.Op{op}, results)
			if results[0].Err != nil || !results[0].Allowed {
				t.Fatalf("%s: %+v", space, results[0])
			}
			return results[0].Promise.Mode
		}
		left := func(space string) int64 {
			t.Helper()
			op := engine.Single(engine.OpPeek, "k", limit, 1)
			op.Space = space
			results := make([]engine.Answer, 1)
			s.Do(ctx, []engine.Op{op}, results)
			return results[0].Binds().Remaining
		}
		for _, space := range []string{before, kept} {
			if a, b, c := mode(space), mode(space), mode(space); a != engine.Exact || b != engine.Exact || c != engine.Leased {
				t.Fatalf("%s: %s, %s, %s; want the third from prefetched units", space, a, b, c)
			}
		}
		if err := held.SetSpaces(ctx, map[string][]engine.Limit{kept: {limit}, added: {limit}}); err != nil {
			t.Fatal(err)
		}
		if n := left(before); n != 97 {
			t.Errorf("%d left at the store, want 97: three units were spent", n)
		}
		if got := mode(before); got != engine.Exact {
			t.Errorf("a dropped limit is answered %s", got)
		}
		if got := mode(kept); got != engine.Leased {
			t.Errorf("a kept limit is answered %s", got)
		}
		mode(added)
		mode(added)
		if got := mode(added); got != engine.Leased {
			t.Errorf("an added limit is answered %s", got)
		}
	})
}

// If a limit is dropped while units for it are in flight, they are returned when they arrive, before SetSpaces
// returns.
func TestSetSpacesWaitsForUnitsOnTheirWay(t *testing.T) {
	limit := rule.FixedWindow(rule.PerHour(1000))
	synctest.Test(t, func(t *testing.T) {
		s := share(t)
		slow := &slowStore{Store: s}
		held, err := prefetch.New(slow, join(t, s), prefetch.Config{Spaces: map[string][]engine.Limit{"a": {limit}}, Life: 10 * time.Second, MaxUnits: 1000, HotAfter: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		time.Sleep(time.Minute)
		op := engine.Single(engine.OpAllow, "k", limit, 1)
		op.Space = "a"
		ask := func() { held.Do(context.Background(), []engine.Op{op}, make([]engine.Answer, 1)) }
		ask()
		slow.takes = time.Second
		go ask() // prefetches, which takes a second
		time.Sleep(500 * time.Millisecond)
		start := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		if err := held.SetSpaces(ctx, map[string][]engine.Limit{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want a deadline exceeded", err)
		}
		if err := held.SetSpaces(context.Background(), map[string][]engine.Limit{}); err != nil {
			t.Error(err)
		}
		if took := time.Since(start).Truncate(10 * time.Millisecond); took != 1500*time.Millisecond {
			t.Errorf("it took %s; want 1.5s: half a second for the units, and one to return them", took)
		}
		op.Kind = engine.OpPeek
		results := make([]engine.Answer, 1)
		s.Do(context.Background(), []engine.Op{op}, results)
		if n := results[0].Binds().Remaining; n != 998 {
			t.Errorf("%d left at the store, want 998", n)
		}
	})
}

// slowStore decides each call at once, and answers after a delay.
type slowStore struct {
	engine.Store

	takes time.Duration
}

func (s *slowStore) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	s.Store.Do(ctx, ops, results)
	time.Sleep(s.takes)
}

// If a limit cannot be prefetched, SetSpaces changes nothing.
func TestSetSpacesChecksLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held, _ := process(t, share(t), prefetch.Config{Spaces: map[string][]engine.Limit{}, Life: time.Second, MaxUnits: 10})
		var bad *engine.InputError
		err := held.SetSpaces(context.Background(), map[string][]engine.Limit{"a": {rule.Pacer(rule.PerSecond(1), rule.MaxQueue(3))}})
		if !errors.As(err, &bad) || bad.Field != "limits" {
			t.Errorf("%v, want an InputError about limits", err)
		}
		if err := held.Close(); err != nil {
			t.Error(err)
		}
		if err := held.SetSpaces(context.Background(), map[string][]engine.Limit{}); err != nil {
			t.Errorf("after Close: %v", err)
		}
	})
}
