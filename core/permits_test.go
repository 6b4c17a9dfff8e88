package core_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

// breakable is a store that can be away. It counts releases.
type breakable struct {
	engine.Store
	away     atomic.Bool
	released atomic.Int64
}

func (b *breakable) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	if b.away.Load() {
		for i := range results {
			results[i].Err = engine.ErrStoreUnavailable
		}
		return
	}
	b.Store.Do(ctx, ops, results)
	for i := range ops {
		if ops[i].Kind == engine.OpRelease && results[i].Found {
			b.released.Add(1)
		}
	}
}

// holdOne acquires a permit of one unit for a minute, and holds it.
func holdOne(t *testing.T) (*core.Permits, *breakable, *headgate.Semaphore) {
	t.Helper()
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b := &breakable{Store: store}
	l := headgate.New(headgate.WithStore(b))
	t.Cleanup(func() { l.Close() })
	limit := rule.Concurrency(1, rule.LeaseTime(time.Minute))
	ops := []engine.Op{{Kind: engine.OpAcquire, Space: l.Core().Space(engine.PolicySpace("jobs")), Key: "k", ID: "one", Charges: []engine.Charge{{Limit: limit, Cost: 1}}}}
	if r := l.Core().Decide(t.Context(), ops...)[0]; r.Err != nil || !r.Allowed {
		t.Fatalf("%+v", r)
	}
	held := l.Core().PermitsOf(ops)
	ctx, end := context.WithCancel(t.Context())
	held.Hold(ctx)
	end() // a release must be possible after the end of the request
	return held, b, l.SemaphoreOf("jobs", limit)
}

func free(t *testing.T, s *headgate.Semaphore, want int64) {
	t.Helper()
	synctest.Wait()
	if d, err := s.Peek(context.Background(), "k", 1); err != nil || d.Remaining != want {
		t.Errorf("%d free, %v, want %d", d.Remaining, err, want)
	}
}

// TestHeldUntilRelease checks that permits outlive their lease time, also beyond the end of the caller's context, and
// end once with Release.
func TestHeldUntilRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held, store, jobs := holdOne(t)
		time.Sleep(time.Hour)
		free(t, jobs, 0)
		if err := held.Release(t.Context()); err != nil {
			t.Error(err)
		}
		free(t, jobs, 1)
		time.Sleep(time.Hour)
		if free(t, jobs, 1); store.released.Load() != 1 {
			t.Errorf("released %d times", store.released.Load())
		}
	})
}

// TestHeldAfterALoss checks that permits that the store has lost are acquired again as soon as there is room.
func TestHeldAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held, _, jobs := holdOne(t)
		if _, err := jobs.Reset(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		other, _, err := jobs.TryAcquire(t.Context(), "k", 1)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Second) // the other one has the unit
		if err := other.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		free(t, jobs, 1)
		time.Sleep(20 * time.Second)
		free(t, jobs, 0)
		_ = held.Release(t.Context())
		free(t, jobs, 1)
	})
}

// TestHeldAfterAnOutage checks that permits that expired while the store was away are acquired again, and that a
// release during an outage returns its error.
func TestHeldAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held, store, jobs := holdOne(t)
		store.away.Store(true)
		time.Sleep(10 * time.Minute)
		store.away.Store(false)
		free(t, jobs, 1)
		time.Sleep(21 * time.Second)
		free(t, jobs, 0)
		store.away.Store(true)
		if err := held.Release(t.Context()); err == nil {
			t.Error("no error")
		}
		store.away.Store(false)
		time.Sleep(2 * time.Minute)
		free(t, jobs, 1)
	})
}

// The permits of a request are not renewed after Close, even if the request never releases them: synctest.Test fails if a
// goroutine is left (regression: bug 201).
func TestPermitsAreNotRenewedAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { holdOne(t) }) // its cleanup closes the limiter
}
