package testbed

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/memstore"
)

// Keys is the maximum number of keys in a memory store, for tests that open thousands of stores. By default, a store
// consists of a thousand shards, and under the race detector, creating their locks takes longer than a test.
const Keys = 1 << 14

// restored is a memory store that is saved and restored repeatedly. Callers must not notice.
type restored struct {
	t   *testing.T
	now func() time.Time

	mu    sync.Mutex
	store *memstore.Store
	calls int
}

func NewRestored(t *testing.T, now func() time.Time) engine.Store {
	t.Helper()
	store, err := memstore.New(memstore.Config{Clock: now, MaxKeys: Keys})
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

// restoreEvery is the number of calls from one restore to the next.
const restoreEvery = 3

// Do implements [engine.Store].
func (r *restored) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
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
	next, err := memstore.Restore(memstore.Config{Clock: r.now, MaxKeys: Keys}, &snapshot)
	if err != nil {
		r.t.Error(err)
		return
	}
	_ = r.store.Close()
	r.store = next
}

// Unwrap returns the current store: the one that was restored last.
func (r *restored) Unwrap() engine.Store {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.store
}

// Close implements [engine.Store].
func (r *restored) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.store.Close()
}
