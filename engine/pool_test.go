package engine_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
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
		{0, 100 * time.Millisecond, engine.Pool{Burst: 200, Outstanding: 100, OfKey: 100, HeavyKeys: 1, Part: 100}},
		{0, 150 * time.Millisecond, engine.Pool{Burst: 200, Outstanding: 150, OfKey: 50, HeavyKeys: 3, Part: 50}},
		{24, 150 * time.Millisecond, engine.Pool{Burst: 200, Outstanding: 150, OfKey: 2, HeavyKeys: 3, Part: 50}},
		{0, 200 * time.Millisecond, engine.Pool{Burst: 200, Outstanding: 200, HeavyKeys: 199}},
		{0, time.Hour, engine.Pool{Burst: 200, Outstanding: 200, HeavyKeys: 199}},
	} {
		if got, ok := limit.Pool(&engine.Standing{Remaining: c.remaining, ResetAfter: c.reset}, 0); got != c.want || !ok {
			t.Errorf("%d remaining, full in %s: %+v, want %+v", c.remaining, c.reset, got, c.want)
		}
	}
	bucket, _ := engine.ParseLimit("100/s")
	if _, ok := bucket.Pool(&engine.Standing{}, 0); ok {
		t.Error("a token bucket has a pool of all keys")
	}
	if _, ok := limit.UnusedKey("ann", "nobody"); ok {
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
	p, spent := l.PolicyOf("p", limit), map[string]int64{}
	for i, c := range []struct {
		key   string
		units int64
	}{{"a:x", 60}, {"b:x", 5}, {"a:y", 3}, {"b:y", 20}, {"c:x", 1}, {"b:z", 1}, {"a:x", 1}} {
		if d, err := p.AllowN(t.Context(), c.key, c.units); err != nil || !d.Allowed {
			t.Fatalf("step %d: %+v, %v", i, d, err)
		}
		spent[engine.GroupOf(c.key)] += c.units
		for group, units := range spent {
			unused, ok := limit.UnusedKey(group+":x", "nobody")
			if !ok || unused != group+":nobody" {
				t.Fatalf("a key without units in the group %s: %q, %t", group, unused, ok)
			}
			free, err := p.Peek(t.Context(), unused, 1)
			if err != nil {
				t.Fatal(err)
			}
			pool, _ := limit.Pool(&engine.Standing{ResetAfter: free.ResetAfter}, free.Remaining)
			if want := min(units, pool.Part); pool.OfKey < want || pool.OfKey > want+3 || pool.Part != 200-pool.Outstanding {
				t.Errorf("step %d, group %s: %+v, want %d of its own", i, group, pool, want)
			}
		}
	}
}

// TestPoolOfPermits holds permits of several keys.
func TestPoolOfPermits(t *testing.T) {
	limit, err := engine.ParseLimit("fair-concurrency 100 lease 1m")
	if err != nil {
		t.Fatal(err)
	}
	l := headgate.New()
	defer l.Close()
	for i, c := range []struct {
		key   string
		units int64
		want  engine.Pool // for ann
	}{
		{"ann", 20, engine.Pool{Burst: 100, Outstanding: 20, OfKey: 20, HeavyKeys: 1, Part: 86}},
		{"bob", 20, engine.Pool{Burst: 100, Outstanding: 40, OfKey: 20, HeavyKeys: 2, Part: 66}},
		{"carol", 20, engine.Pool{Burst: 100, Outstanding: 60, OfKey: 20, HeavyKeys: 3, Part: 46}},
		{"dave", 1, engine.Pool{Burst: 100, Outstanding: 61, OfKey: 20, HeavyKeys: 3, Part: 45}},
		{"erin", 20, engine.Pool{Burst: 100, Outstanding: 81, OfKey: 20, HeavyKeys: 4, Part: 28}},
	} {
		acquire, peek := engine.Single(engine.OpAcquire, c.key, limit, c.units), engine.Single(engine.OpPeek, "ann", limit, 1)
		acquire.ID = "a permit"
		results := l.Core().Decide(t.Context(), acquire, peek)
		if results[0].Err != nil || !results[0].Allowed || results[1].Err != nil {
			t.Fatalf("step %d: %+v", i, results)
		}
		if p, ok := limit.Pool(results[1].Binds(), 0); !ok || p != c.want {
			t.Errorf("step %d: %+v, want %+v", i, p, c.want)
		}
	}
}
