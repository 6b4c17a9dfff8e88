package memstore_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

var manyPermits = rule.Concurrency(100_000, rule.LeaseTime(time.Minute))

// permitOp returns an acquire or release of one unit.
func permitOp(kind engine.Kind, space, key, id string) engine.Op {
	return engine.Op{Kind: kind, Space: space, Key: key, ID: id, Charges: []engine.Charge{{Limit: manyPermits, Cost: 1}}}
}

func doOne(t *testing.T, store *memstore.Store, op engine.Op) engine.Result {
	t.Helper()
	var results [1]engine.Result
	store.Do(context.Background(), []engine.Op{op}, results[:])
	if results[0].Err != nil {
		t.Fatal(results[0].Err)
	}
	return results[0]
}

// Permits count against the bound of the store: the first of a key with the key, each further one as 4 keys. Before, 11
// keys took 230 MiB. Another namespace keeps its part, an expired permit makes room for another, and what is released,
// reset or restored is counted.
func TestPermitsCountAsKeys(t *testing.T) {
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{MaxKeys: 1000, Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	store.KeepRoom("a", "b")
	fill := func(space string) (held int) {
		for ; held < 2000; held++ {
			if r := doOne(t, store, permitOp(engine.OpAcquire, space, fmt.Sprint("k", held%2), fmt.Sprint(held))); !r.Outcome.Allowed {
				if !r.Outcome.Full {
					t.Errorf("denied, but not because the store is full: %+v", r.Outcome)
				}
				break
			}
		}
		return held
	}
	if held := fill("a"); held != 2+(750-2)/4 {
		t.Errorf("%d permits in a store of 1000 keys, of which another policy keeps 250", held)
	}
	if held := fill("b"); held != 2+(250-2)/4 {
		t.Errorf("%d permits in a part of 250 keys", held)
	}
	if r := doOne(t, store, permitOp(engine.OpRenew, "a", "k0", "0")); !r.Outcome.Allowed {
		t.Errorf("a full store renews no permit: %+v", r.Outcome)
	}
	if r := doOne(t, store, permitOp(engine.OpRelease, "a", "k1", "1")); !r.Found {
		t.Error("a full store releases no permit")
	}
	if r := doOne(t, store, permitOp(engine.OpAcquire, "a", "k0", "in its place")); !r.Outcome.Allowed {
		t.Errorf("after a release: %+v", r.Outcome)
	}
	clock.Advance(30 * time.Second)
	doOne(t, store, permitOp(engine.OpRenew, "a", "k0", "2"))
	clock.Advance(40 * time.Second)
	if r := doOne(t, store, permitOp(engine.OpAcquire, "a", "k0", "after the others")); !r.Outcome.Allowed {
		t.Errorf("after all other permits of the key have expired: %+v", r.Outcome)
	}
	saved := new(bytes.Buffer)
	if _, err := store.Save(t.Context(), saved); err != nil {
		t.Fatal(err)
	}
	again, err := memstore.Restore(memstore.Config{MaxKeys: 1000, Clock: clock.Now}, saved)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if keys := again.Stats().Keys; keys != 5 {
		t.Errorf("%d keys restored, want 1 with two permits", keys)
	}
	for _, key := range []string{"k0", "k1"} {
		for _, space := range []string{"a", "b"} {
			doOne(t, store, permitOp(engine.OpReset, space, key, ""))
		}
	}
	if stats := store.Stats(); stats.Keys != 0 || stats.Shared != 0 {
		t.Errorf("after a reset of all keys: %+v", stats)
	}
}
