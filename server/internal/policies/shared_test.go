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
	"github.com/headgate/headgate/server/internal/adminapi"
	"github.com/headgate/headgate/server/internal/policies"
)

// faulty is a coordinator whose calls sometimes fail, before or after taking effect.
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
func (f *faulty) Leave(context.Context, string, string) error { return errFault }

func coordinator(t *testing.T) engine.Coordinator {
	t.Helper()
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// TestServersAgree lets servers make changes at random, on a store whose calls fail at random and that loses its data
// at some point. In the end the servers agree: each change is the last one that was reported as stored, or one with
// an unknown outcome.
func TestServersAgree(t *testing.T) {
	for seed := range uint64(9) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a reproducible test
			store := &faulty{now: coordinator(t), rand: r, faults: true}
			servers := make([]policies.Store, 3)
			for i := range servers {
				servers[i] = policies.NewShared(store)
			}
			last := map[string]int64{} // the latest version known to be stored, by key; -1 if cleared
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
				c := policies.Change{Change: adminapi.Change{Policy: "p", Key: key, Fields: json.RawMessage(`{"deny":true}`), Author: fmt.Sprint(step)}}
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
					delete(last, key) // its outcome is unknown
				}
			}
			store.faults = false
			agree(t, seed, store, servers, last)
		})
	}
}

// agree checks that all servers know the same changes within a minute.
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

// TestSharedChangesAreBounded checks that a change above the maximum is rejected, and that clearing a change makes
// room.
func TestSharedChangesAreBounded(t *testing.T) {
	ctx := context.Background()
	s := policies.NewBounded(coordinator(t), 100)
	if _, _, err := s.Load(ctx); err != nil {
		t.Fatal(err)
	}
	c := policies.Change{Change: adminapi.Change{Policy: "p", Fields: json.RawMessage(`{"deny":true}`), Author: "ann"}}
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

// counted is a coordinator that counts the values read.
type counted struct {
	engine.Coordinator

	mu    sync.Mutex
	reads int
}

func (c *counted) Get(ctx context.Context, name string) (string, int64, error) {
	c.mu.Lock()
	c.reads++
	c.mu.Unlock()
	return c.Coordinator.Get(ctx, name)
}

func denyKey(key string) policies.Change {
	return policies.Change{Change: adminapi.Change{Policy: "p", Key: key, Fields: json.RawMessage(`{"deny":true}`), Author: "ann"}}
}

func loaded(t *testing.T, s policies.Store) []policies.Change {
	t.Helper()
	changes, _, err := s.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

func put(t *testing.T, s policies.Store, key string, replaces int64) int64 {
	t.Helper()
	version, err := s.Put(context.Background(), denyKey(key), replaces)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// TestOlderChangeNeverReplacesNewer checks that the store accepts a change only if the caller has read the version
// that it replaces.
func TestOlderChangeNeverReplacesNewer(t *testing.T) {
	ctx := context.Background()
	file, err := policies.OpenStateFile(t.TempDir() + "/state.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]policies.Store{"memory": policies.NewMemory(), "file": file, "shared": policies.NewShared(coordinator(t))} {
		loaded(t, s)
		first := put(t, s, "k", 0)
		second := put(t, s, "k", first)
		for _, replaces := range []int64{0, first} {
			if _, err := s.Put(ctx, denyKey("k"), replaces); !errors.Is(err, policies.ErrConflict) {
				t.Errorf("%s: in place of version %d: %v, want ErrConflict", name, replaces, err)
			}
		}
		old := denyKey("k")
		old.Version = first
		if err := s.Delete(ctx, old); !errors.Is(err, policies.ErrConflict) {
			t.Errorf("%s: an older version was cleared: %v", name, err)
		}
		if changes := loaded(t, s); len(changes) != 1 || changes[0].Version != second {
			t.Errorf("%s: %+v", name, changes)
		}
	}
}

// TestServersReadChanges checks that a server reads only changed values, unless it cannot determine which ones
// have changed: at the start, after many changes, and once per minute.
func TestServersReadChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := coordinator(t)
		a := policies.NewShared(store)
		count := &counted{Coordinator: store}
		b := policies.NewShared(count)
		reads := func(want int, why string) []policies.Change {
			t.Helper()
			count.reads = 0
			changes := loaded(t, b)
			if count.reads != want {
				t.Errorf("%d values were read %s, want %d", count.reads, why, want)
			}
			return changes
		}
		loaded(t, a)
		put(t, a, "first", 0)
		reads(1+256+1, "at the start")
		reads(1, "without a change")
		put(t, a, "second", 0)
		put(t, a, "third", 0)
		if n := len(reads(1+2, "after two changes")); n != 3 {
			t.Errorf("%d changes", n)
		}
		for i := range 70 {
			put(t, a, fmt.Sprint(i), 0)
		}
		if n := len(reads(1+256+73, "after 70 changes")); n != 73 {
			t.Errorf("%d changes", n)
		}
		time.Sleep(time.Minute)
		reads(1+256+73, "after a minute")
	})
}

// TestLostChangesComeBack checks that after the store has lost all its data, any server that still has a change
// stores it again, and that cleared changes do not come back.
func TestLostChangesComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{now: coordinator(t), rand: rand.New(rand.NewPCG(1, 1))} //nolint:gosec // a reproducible test
		a, b := policies.NewShared(store), policies.NewShared(store)
		loaded(t, a)
		kept, cleared := put(t, a, "kept", 0), denyKey("cleared")
		cleared.Version = put(t, a, "cleared", 0)
		loaded(t, b)
		if err := a.Delete(context.Background(), cleared); err != nil {
			t.Fatal(err)
		}
		loaded(t, b)
		time.Sleep(time.Second)
		store.now = coordinator(t)
		for range 3 {
			loaded(t, a)
			loaded(t, b)
		}
		fresh := loaded(t, policies.NewShared(store))
		if len(fresh) != 1 || fresh[0].Key != "kept" || fresh[0].Version <= kept {
			t.Errorf("%+v; want kept, in a version after %d", fresh, kept)
		}
	})
}
