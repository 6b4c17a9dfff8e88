package policies_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/internal/policies"
)

// reverting is a coordinator that can return to an earlier state, like a replica that lagged behind its primary.
type reverting struct {
	engine.Coordinator

	mu     sync.Mutex
	values map[string]valueOf
}

type valueOf struct {
	text    string
	version int64
}

func (r *reverting) Get(_ context.Context, name string) (string, int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.values[name]
	return v.text, v.version, nil
}

func (r *reverting) CompareAndSet(_ context.Context, name string, version int64, value string) (int64, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.values[name].version; now != version {
		return now, false, nil
	}
	version = max(version+1, time.Now().UnixMicro())
	r.values[name] = valueOf{value, version}
	return version, true, nil
}

// save returns the coordinator's current state, and revert restores it.
func (r *reverting) save() map[string]valueOf {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.values)
}

func (r *reverting) revert(to map[string]valueOf) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values = maps.Clone(to)
}

// TestChangesOutliveAFailover (regression: bug 65): after the store comes back with an earlier state, or empty, cleared
// changes stay cleared, the later of two changes wins no matter which server polls first, and all servers agree after
// the next poll.
func TestChangesOutliveAFailover(t *testing.T) {
	for n := range 4 {
		first, empty := n%2, n >= 2
		synctest.Test(t, func(t *testing.T) {
			store := &reverting{values: map[string]valueOf{}}
			servers := []policies.Store{policies.NewShared(store), policies.NewShared(store)}
			later := func() { time.Sleep(time.Second) }
			for _, s := range servers {
				loaded(t, s)
			}
			cleared := denyKey("cleared")
			cleared.Version = put(t, servers[0], "cleared", 0)
			version := put(t, servers[0], "changed", 0)
			later()
			loaded(t, servers[1]) // has read only the first versions
			earlier := store.save()
			later()
			if err := servers[0].Delete(t.Context(), cleared); err != nil {
				t.Fatal(err)
			}
			change := denyKey("changed")
			change.Fields = json.RawMessage(`{"unlimited":true}`)
			if _, err := servers[0].Put(t.Context(), change, version); err != nil {
				t.Fatal(err)
			}
			later()
			if empty {
				earlier = map[string]valueOf{}
			}
			store.revert(earlier)
			put(t, servers[1], "new", 0)  // so that the store lists as many changes as the other server has read
			var last [3][]policies.Change // the last server starts now
			servers = append(servers, policies.NewShared(store))
			for range 3 {
				for _, i := range []int{first, 1 - first, 2} {
					if changes, same, err := servers[i].Load(t.Context()); err != nil {
						t.Fatal(err)
					} else if !same {
						last[i] = changes
					}
				}
			}
			for i, got := range last {
				if len(got) != 2 || got[0].Key != "changed" || string(got[0].Fields) != `{"unlimited":true}` || got[1].Key != "new" {
					t.Errorf("server %d has %+v", i, got)
				}
			}
		})
	}
}

// TestChangesExpireWithoutAServer (regression: bug 65): if a change expires while no server is running, the next server
// clears it, with one audit line.
func TestChangesExpireWithoutAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &reverting{values: map[string]valueOf{}}
		a := begin(t, base, policies.NewShared(store))
		c := rate("50/s")
		c.For = time.Hour
		if made := change(t, a, c); !made.Expires.Equal(time.Now().Add(time.Hour)) {
			t.Errorf("it ends at %s", made.Expires)
		}
		time.Sleep(2 * time.Hour)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		servers := []*server{begin(t, base, policies.NewShared(store)), begin(t, base, policies.NewShared(store))}
		for _, s := range servers {
			running.Go(func() { s.Run(ctx) })
		}
		time.Sleep(time.Second)
		if n := strings.Count(servers[0].logged()+servers[1].logged(), "action=expire"); n != 1 {
			t.Errorf("%d audit lines", n)
		}
		stop()
		running.Wait()
		if left := loaded(t, policies.NewShared(store)); len(left) != 0 {
			t.Errorf("left: %+v", left)
		}
	})
}
