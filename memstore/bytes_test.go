package memstore_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/storetest"
)

// The memory per key, including the table's overhead, is as documented.
func TestBytes(t *testing.T) {
	if raced.On {
		t.Skip("slow with the race detector; make test runs this without it too")
	}
	const keys = 1 << 18
	type bytes struct {
		limit  engine.Limit
		length int
		most   float64
	}
	cases := []bytes{{rule.TokenBucket(rule.PerHour(1000)), 40, 44}}
	for a, limit := range storetest.Examples() {
		switch {
		case a.Divides(): // all keys have one state: TestBytesOfShares
		case a.TwoWords():
			cases = append(cases, bytes{limit, 20, 44})
		case a.Holds():
			cases = append(cases, bytes{limit, 20, 610})
		case a.Adapts():
			cases = append(cases, bytes{limit, 20, 340})
		default:
			cases = append(cases, bytes{limit, 20, 290})
		}
	}
	for _, c := range cases {
		store, l := open(t, memstore.Config{MaxKeys: keys, Clock: headgatetest.NewClock().Now})
		before := heap()
		for i := range keys {
			key := fmt.Sprintf("%s%015d", strings.Repeat("k", c.length-15), i)
			var err error
			if c.limit.Algorithm().Holds() {
				_, _, err = l.SemaphoreOf("", c.limit).TryAcquire(context.Background(), key, 1)
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

// Open reservations take as much memory as documented: under 220 bytes for one limit, and under 420 for four.
func TestBytesOfOpenReservations(t *testing.T) {
	if raced.On {
		t.Skip("the race detector takes memory of its own")
	}
	const count = 10_000
	for limits, most := range map[int]float64{1: 220, 4: 420} {
		store, _ := open(t, memstore.Config{MaxKeys: 100_000, Clock: headgatetest.NewClock().Now})
		results, before := make([]engine.Answer, 1), int64(0)
		for i := range count + 10 {
			if i == 10 { // all states exist by now
				before = heap()
			}
			op := engine.Op{Kind: engine.OpReserve, Space: "policy:tokens", Key: "user", ID: fmt.Sprintf("%026d", i), Term: &engine.Term{Within: time.Hour}}
			for n := range limits {
				op.Charges = append(op.Charges, engine.Charge{Limit: rule.FixedWindow(rule.PerDay(1_000_000_000), rule.Named(fmt.Sprint("n", n))), Cost: 5})
			}
			if store.Do(t.Context(), []engine.Op{op}, results); results[0].Err != nil || !results[0].Allowed {
				t.Fatalf("%+v", results[0])
			}
		}
		if bytes := float64(heap()-before) / count; bytes > most {
			t.Errorf("%d limits: %.1f bytes, want %v at most", limits, bytes, most)
		}
		runtime.KeepAlive(store)
	}
}

// Each key in a fair-share limit's list takes 16 bytes. The rest belongs to the counter that all keys share. With 250
// keys on a counter, this is at most 64 bytes per key in total.
func TestBytesOfShares(t *testing.T) {
	const pools, keys = 40, 250
	store, l := open(t, memstore.Config{MaxKeys: 1000, Clock: headgatetest.NewClock().Now})
	before := heap()
	for i := range pools * keys {
		limit := rule.FairShare(rule.PerHour(1000), rule.Named(fmt.Sprint("pool ", i%pools)))
		if err := take(t, l, fmt.Sprint("key ", i), limit); err != nil {
			t.Fatal(err)
		}
	}
	bytes := float64(heap()-before) / pools / keys
	t.Logf("%.1f bytes a key", bytes)
	if bytes > 64 || store.Stats().Keys != pools {
		t.Errorf("%.1f bytes a key, %d counters", bytes, store.Stats().Keys)
	}
}
