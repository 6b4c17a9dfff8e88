package faults

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// Concurrent decisions made before the note is read wait for a single read. If the note is another build's, nothing is
// decided. If reading takes longer than 100 ms, for example on a busy machine, the decisions stop waiting, and a store
// without shards decides.
func TestFirstDecisionsWaitForTheNote(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	s.MustDo("set", "hg/shards", "format=2 shards=0")
	var decided atomic.Int64
	for range 10 {
		store := testbed.OpenGoredis(t, testbed.At(s.Addr(), ""), redisstore.Config{})
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				began := time.Now()
				if r := testbed.Take(store, fmt.Sprint("x", i), testbed.Hourly); r.Err == nil && time.Since(began) < 100*time.Millisecond {
					decided.Add(1)
				}
			})
		}
		wg.Wait()
	}
	if n := decided.Load(); n > 0 {
		t.Errorf("%d decisions beside a note of format 2", n)
	}
	// A value of the wrong type at the note's key is reported.
	s.MustDo("del", "hg/shards")
	s.MustDo("lpush", "hg/shards", "x")
	wantRefusal(t, "redis://"+s.Addr(), redisstore.WrongType, "")
	for _, note := range []string{"format=1 shards=0 more", "format=0 shards=0", "format=x", "shards"} {
		s.MustDo("set", "hg/shards", note)
		wantRefusal(t, "redis://"+s.Addr(), redisstore.Garbage, note)
	}
}

// If the node with the note hangs, keys on the other nodes are decided within their deadlines, also by a store that could
// not read the note.
func TestNoteAway(t *testing.T) {
	t.Parallel()
	c := redistest.Cluster(t, redistest.Redis)
	for _, node := range c.Primaries() {
		node.MustDo("config", "set", "cluster-require-full-coverage", "no")
	}
	_, home := c.Of("hg/shards")
	key := "k"
	for i := 0; ; i++ {
		if _, other := c.Of(key); other != home {
			break
		}
		key = fmt.Sprint("k", i)
	}
	for _, adapter := range testbed.Adapters {
		store := adapter.Open(t, testbed.OfCluster(c), redisstore.Config{Prefix: "headgate"})
		ask := func() error {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			results := make([]engine.Answer, 1)
			store.Do(ctx, []engine.Op{{Space: "s", Key: key, Charges: []engine.Charge{{Limit: testbed.Hourly, Cost: 1}}}}, results)
			return results[0].Err
		}
		home.Pause()
		for i := range 2 {
			if err := ask(); err != nil {
				t.Errorf("%s, decision %d: %v", adapter.Name, i, err)
			}
			time.Sleep(1100 * time.Millisecond) // so that the next decision reads the note again
		}
		start := time.Now()
		if err := store.Close(); err != nil || time.Since(start) > 10*time.Second {
			t.Errorf("%s: Close took %s, %v", adapter.Name, time.Since(start), err)
		}
		home.Resume()
		testbed.RecoversFrom(t, adapter.Open(t, testbed.OfCluster(c), redisstore.Config{Prefix: "headgate"}))
	}
}
