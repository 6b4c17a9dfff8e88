package memstore_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/storetest"
)

// The memory of a key, everything included, is as documented.
func TestBytes(t *testing.T) {
	if raced {
		t.Skip("slow with the race detector; make test runs this without it too")
	}
	const keys = 1 << 18
	type bytes struct {
		limit  headgate.Limit
		length int
		most   float64
	}
	cases := []bytes{{headgate.TokenBucket(headgate.PerHour(1000)), 40, 44}}
	for a, limit := range storetest.Examples() {
		switch {
		case a.InWords():
			cases = append(cases, bytes{limit, 20, 44})
		case a.Holds():
			cases = append(cases, bytes{limit, 20, 600})
		default:
			cases = append(cases, bytes{limit, 20, 280})
		}
	}
	for _, c := range cases {
		store, l := open(t, memstore.Config{MaxKeys: keys, Clock: headgatetest.NewClock().Now})
		before := heap()
		for i := range keys {
			key := fmt.Sprintf("%s%015d", strings.Repeat("k", c.length-15), i)
			var err error
			if c.limit.Algorithm().Holds() {
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
