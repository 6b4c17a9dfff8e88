package policies_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/server/policies"
)

// faulty is a coordinator whose calls sometimes fail: before they took effect, or after.
type faulty struct {
	mu     sync.Mutex
	now    engine.Coordinator
	rand   *rand.Rand
	faults bool
}

var errFault = fmt.Errorf("%w: a fault of the test", headgate.ErrStoreUnavailable)

func (f *faulty) draw() (store engine.Coordinator, before, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.rand.IntN(30)
	return f.now, f.faults && n == 0, f.faults && n == 1
}

func (f *faulty) Get(ctx context.Context, name string) (string, int64, error) {
	store, before, after := f.draw()
	if before || after {
		return "", 0, errFault
	}
	return store.Get(ctx, name)
}

func (f *faulty) CompareAndSet(ctx context.Context, name string, version int64, value string) (int64, bool, error) {
	store, before, after := f.draw()
	if before {
		return 0, false, errFault
	}
	now, swapped, err := store.CompareAndSet(ctx, name, version, value)
	if after {
		return 0, false, errFault
	}
	return now, swapped, err
}

func (f *faulty) Beat(context.Context, string, string, time.Duration) ([]string, error) {
	return nil, errFault
}
func (f *faulty) Leave(context.Context, string, string) error   { return errFault }
func (f *faulty) Publish(context.Context, string, string) error { return errFault }
func (f *faulty) Subscribe(context.Context, string, func(), func(string)) error {
	return errFault
}

func coordinator(t *testing.T) engine.Coordinator {
	t.Helper()
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// Servers that make changes at random, on a store whose calls fail at random and that once
// loses its data, agree in the end: each change is the last one that a server was told is
// stored, or one whose outcome it was not told.
func TestServersAgree(t *testing.T) {
	for seed := range uint64(9) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a reproducible test
			store := &faulty{now: coordinator(t), rand: r, faults: true}
			servers := make([]policies.Store, 3)
			for i := range servers {
				servers[i] = policies.NewShared(store)
			}
			last := map[string]int64{} // the highest version that is known to be stored, by key; -1 where cleared
			ctx := context.Background()
			for step := range 300 {
				time.Sleep(time.Duration(r.IntN(100)) * time.Millisecond)
				s := servers[r.IntN(len(servers))]
				if step == 150 && seed%3 == 0 {
					store.now = coordinator(t)
				}
				changes, _, _ := s.Load(ctx)
				key := fmt.Sprint("k", r.IntN(5))
				at := slices.IndexFunc(changes, func(c policies.Change) bool { return c.Key == key })
				c := policies.Change{Policy: "p", Key: key, Fields: json.RawMessage(`{"deny":true}`), Author: fmt.Sprint(step)}
				var err error
				switch {
				case at >= 0 && r.IntN(3) == 0:
					if err = s.Delete(ctx, changes[at]); err == nil {
						last[key] = -1
					}
				default:
					replaces := int64(0)
					if at >= 0 {
						replaces = changes[at].Version
					}
					var version int64
					version, err = s.Put(ctx, c, replaces)
					if err == nil && version <= last[key] {
						t.Fatalf("seed %d: version %d of %s after %d", seed, version, key, last[key])
					}
					if err == nil {
						last[key] = version
					}
				}
				if err != nil {
					delete(last, key) // its outcome is not known
				}
			}
			store.faults = false
			agree(t, seed, store, servers, last)
		})
	}
}

// agree checks that all servers have the same changes, a minute later at the latest.
func agree(t *testing.T, seed uint64, store engine.Coordinator, servers []policies.Store, last map[string]int64) {
	t.Helper()
	ctx := context.Background()
	all := make([][]policies.Change, len(servers))
	for range 5 {
		time.Sleep(time.Minute + time.Second)
		for i, s := range servers {
			changes, same, err := s.Load(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if !same {
				all[i] = changes
			}
		}
	}
	fresh, _, err := policies.NewShared(store).Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if all[i] != nil && !slices.EqualFunc(all[i], fresh, func(a, b policies.Change) bool { return a.Key == b.Key && a.Version == b.Version }) {
			t.Errorf("seed %d: server %d has %v, and one that starts now %v", seed, i, all[i], fresh)
		}
	}
	for key, version := range last {
		at := slices.IndexFunc(fresh, func(c policies.Change) bool { return c.Key == key })
		if version == -1 && at >= 0 {
			t.Errorf("seed %d: %s was cleared, and is there", seed, key)
		}
		if version > 0 && (at < 0 || fresh[at].Version < version) {
			t.Errorf("seed %d: version %d of %s is lost", seed, version, key)
		}
	}
}

// One change more than the bound is refused; a cleared one makes room.
func TestSharedChangesAreBounded(t *testing.T) {
	ctx := context.Background()
	s := policies.NewBounded(coordinator(t), 100)
	if _, _, err := s.Load(ctx); err != nil {
		t.Fatal(err)
	}
	c := policies.Change{Policy: "p", Fields: json.RawMessage(`{"deny":true}`), Author: "ann"}
	var first policies.Change
	for i := range 100 {
		c.Key = fmt.Sprint(i)
		version, err := s.Put(ctx, c, 0)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = c
			first.Version = version
		}
	}
	c.Key = "more"
	if _, err := s.Put(ctx, c, 0); !errors.Is(err, policies.ErrTooMany) {
		t.Errorf("%v, want ErrTooMany", err)
	}
	if err := s.Delete(ctx, first); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(ctx, c, 0); err != nil {
		t.Errorf("after one was cleared: %v", err)
	}
}
