package memstore_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
)

// The memory of a key, everything included, is as documented.
func TestBytes(t *testing.T) {
	if raced {
		t.Skip("slow with the race detector; make test runs this without it too")
	}
	const keys = 1 << 18
	for _, c := range []struct {
		limit  headgate.Limit
		length int
		most   float64
	}{
		{headgate.TokenBucket(headgate.PerHour(1000)), 20, 44},
		{headgate.FixedWindow(headgate.PerHour(1000)), 20, 44},
		{headgate.TokenBucket(headgate.PerHour(1000)), 40, 44},
		{headgate.SlidingWindow(headgate.PerHour(1000), headgate.Segments(1)), 20, 280},
		{headgate.SlidingLog(headgate.PerHour(1000)), 20, 280},
		{headgate.WarmUp(headgate.PerHour(1000), time.Minute, headgate.Burst(1000)), 20, 280},
		{headgate.Concurrency(10), 20, 600},
	} {
		store, l := open(t, memstore.Config{MaxKeys: keys, Clock: headgatetest.NewClock().Now})
		before := heap()
		for i := range keys {
			key := fmt.Sprintf("%s%015d", strings.Repeat("k", c.length-15), i)
			var err error
			if c.limit.Capacity() == 10 {
				_, _, err = l.Policy("", c.limit).Acquire(context.Background(), key, 1)
			} else {
				err = take(t, l, key, c.limit)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		bytes := float64(heap()-before) / keys
		t.Logf("%v, keys of %d bytes: %.1f bytes a key", c.limit, c.length, bytes)
		if bytes > c.most || store.Stats().Keys != keys {
			t.Errorf("%v, keys of %d bytes: %.1f bytes a key, want %v at most; %d keys", c.limit, c.length, bytes, c.most, store.Stats().Keys)
		}
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
