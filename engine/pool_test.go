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
	if _, _, ok := limit.Newcomer("ann", "nobody"); ok {
		t.Error("the free units of a fair share follow from its reset")
	}
}

// TestPoolOfGroups charges keys of several groups, and compares the estimates with the outstanding units of each
// group. The estimate is a lower bound for a group that has its part.
func TestPoolOfGroups(t *testing.T) {
	limit, err := engine.ParseLimit("fair-share 1/d burst 200 nested")
	if err != nil {
		t.Fatal(err)
	}
	l := headgate.New()
	defer l.Close()
	p, spent := operate.Policy(l, "p", limit), map[string]int64{}
	for i, c := range []struct {
		key   string
		units int64
	}{{"a:x", 60}, {"b:x", 5}, {"a:y", 3}, {"b:y", 20}, {"c:x", 1}, {"b:z", 1}, {"a:x", 1}} {
		if d, err := p.AllowN(t.Context(), c.key, c.units); err != nil || !d.Allowed {
			t.Fatalf("step %d: %+v, %v", i, d, err)
		}
		spent[engine.GroupOf(c.key)] += c.units
		for group, units := range spent {
			_, newcomer, ok := limit.Newcomer(group+":x", "nobody")
			if !ok || newcomer != group+":nobody" {
				t.Fatalf("a key without units in the group %s: %q, %t", group, newcomer, ok)
			}
			free, err := p.Peek(t.Context(), newcomer, 1)
			if err != nil {
				t.Fatal(err)
			}
			pool, _ := limit.Pool(0, free.ResetAfter, free.Remaining)
			if want := min(units, pool.Part); pool.Own < want || pool.Own > want+3 || pool.Part != 200-pool.Outstanding {
				t.Errorf("step %d, group %s: %+v, want %d of its own", i, group, pool, want)
			}
		}
	}
}

// TestPoolOfPermits holds permits of several keys, and compares the estimates with the number of held permits.
func TestPoolOfPermits(t *testing.T) {
	limit, err := engine.ParseLimit("fair-concurrency 100 lease 1m")
	if err != nil {
		t.Fatal(err)
	}
	newcomer, key, ok := limit.Newcomer("ann", "nobody")
	if !ok || key != "nobody" {
		t.Fatalf("permits need the answer for a key without units, not for %q", key)
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
