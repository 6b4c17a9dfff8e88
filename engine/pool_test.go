package engine_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/operate"
)

func TestPool(t *testing.T) {
	limit, err := engine.ParseLimit("fair-share 1000/s burst 200")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		remaining int64
		reset     time.Duration
		want      engine.Pool
	}{
		{100, 0, engine.Pool{Burst: 200, Part: 200}},
		{0, 100 * time.Millisecond, engine.Pool{Burst: 200, Outstanding: 100, Own: 100, Heavy: 1, Part: 100}},
		{0, 150 * time.Millisecond, engine.Pool{Burst: 200, Outstanding: 150, Own: 50, Heavy: 3, Part: 50}},
		{24, 150 * time.Millisecond, engine.Pool{Burst: 200, Outstanding: 150, Own: 2, Heavy: 3, Part: 50}},
		{0, 200 * time.Millisecond, engine.Pool{Burst: 200, Outstanding: 200, Heavy: 199}},
		{0, time.Hour, engine.Pool{Burst: 200, Outstanding: 200, Heavy: 199}},
	} {
		if got, ok := limit.Pool(c.remaining, c.reset, 0); got != c.want || !ok {
			t.Errorf("%d remaining, full in %s: %+v, want %+v", c.remaining, c.reset, got, c.want)
		}
	}
	bucket, _ := engine.ParseLimit("100/s")
	if _, ok := bucket.Pool(0, 0, 0); ok {
		t.Error("a token bucket has a pool of all keys")
	}
}

// TestPoolOfPermits holds permits of several keys, and compares the estimates with the number of held permits.
func TestPoolOfPermits(t *testing.T) {
	limit, err := engine.ParseLimit("fair-concurrency 100 lease 1m")
	if err != nil {
		t.Fatal(err)
	}
	newcomer, ok := limit.Newcomer()
	if !ok {
		t.Fatal("permits need the answer for a key without units")
	}
	l := headgate.New()
	defer l.Close()
	semaphore, other := operate.Semaphore(l, "p", limit), operate.Semaphore(l, "p", newcomer)
	held := int64(0)
	for i, c := range []struct {
		key   string
		units int64
	}{{"ann", 20}, {"bob", 60}, {"carol", 12}, {"dave", 4}, {"erin", 1}, {"fay", 1}, {"gus", 1}, {"hal", 1}} {
		if _, d, err := semaphore.TryAcquire(t.Context(), c.key, c.units); err != nil || !d.Allowed {
			t.Fatalf("step %d: %+v, %v", i, d, err)
		}
		held += c.units
		free, err := other.Peek(t.Context(), "nobody", 1)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := limit.Pool(0, 0, free.Remaining)
		if off := p.Outstanding - held; p.Burst != 100 || off < 0 || off > 1 {
			t.Errorf("step %d: %+v, want %d held", i, p, held)
		}
	}
}
