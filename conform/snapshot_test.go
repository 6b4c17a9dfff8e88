package conform

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/conform/script"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/storetest"
)

// restored is a memory store that is saved and restored again and again: callers must not
// notice.
type restored struct {
	t   *testing.T
	now func() time.Time

	mu    sync.Mutex
	store *memstore.Store
	calls int
}

func newRestored(t *testing.T, now func() time.Time) engine.Store {
	t.Helper()
	store, err := memstore.New(memstore.Config{Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	r := &restored{t: t, now: now, store: store}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// restoreEvery is how many calls lie between two restores.
const restoreEvery = 3

// Do implements [engine.Store].
func (r *restored) Do(ctx context.Context, ops []engine.Op, results []engine.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls++; r.calls%restoreEvery == 0 {
		r.restore()
	}
	r.store.Do(ctx, ops, results)
}

func (r *restored) restore() {
	var snapshot bytes.Buffer
	if _, err := r.store.Save(context.Background(), &snapshot); err != nil {
		return // closed by the test
	}
	next, err := memstore.Restore(memstore.Config{Clock: r.now}, &snapshot)
	if err != nil {
		r.t.Error(err)
		return
	}
	_ = r.store.Close()
	r.store = next
}

// Close implements [engine.Store].
func (r *restored) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.store.Close()
}

// TestRestored: the suite of all stores, on one that is saved and restored between calls.
func TestRestored(t *testing.T) {
	storetest.Run(t, storetest.Options{New: newRestored})
}

// TestRestoredDifferential: random scripts of every algorithm beside the model, on a store
// that is saved and restored between calls. The clock is not set back: a state that has
// expired is not saved, and a clock before its expiry then shows that.
func TestRestoredDifferential(t *testing.T) {
	for _, algorithm := range script.Algorithms {
		for name, options := range kinds {
			if options.ClockSteps {
				continue
			}
			t.Run(algorithm+"/"+name, func(t *testing.T) {
				t.Parallel()
				for i := range max(1, *steps/caseSteps/len(kinds)) {
					clock := headgatetest.NewClock()
					differOn(t, newRestored(t, clock.Now), clock, algorithm, name, options, *seed+uint64(i))
				}
			})
		}
	}
}
