package suggest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

func TestGroupKeepsEachKeysRequestsInOrder(t *testing.T) {
	type request struct {
		time int64
		tag  uint16
	}
	for _, tagged := range []bool{false, true} {
		r := rand.New(rand.NewPCG(3, 3))
		const keys = 70
		var recorded recorder
		want := make([][]request, keys)
		for i := range int64(2*chunk + 5) {
			q := request{time: i * 3}
			if tagged {
				q.tag = uint16(r.IntN(5))
			}
			key := int32(r.IntN(keys - 1)) // the last key has no requests
			want[key] = append(want[key], q)
			if !recorded.add(key, q.time, q.tag) {
				t.Fatal("full")
			}
		}
		groups := recorded.group(keys)
		if len(groups.times) != 2*chunk+5 || len(groups.ends) != keys || recorded.count != 0 {
			t.Fatalf("%d requests of %d keys", len(groups.times), len(groups.ends))
		}
		for key := range keys {
			var got []request
			for i, time := range groups.of(key) {
				got = append(got, request{time, groups.tagOf(key, i)})
			}
			if !slices.Equal(got, want[key]) {
				t.Fatalf("key %d has %d requests, want %d", key, len(got), len(want[key]))
			}
		}
	}
}

func TestDeniedCountsByTheSteps(t *testing.T) {
	times := []int64{0, 0, 0, 500_000, 1_000_000, 1_000_000, 10_000_000}
	for _, c := range []struct {
		limit engine.Limit
		want  int64
	}{
		{rule.TokenBucket(rule.PerSecond(1), rule.Burst(2)), 3},
		{rule.FixedWindow(rule.PerSecond(2)), 2},
		{rule.SlidingLog(rule.PerSecond(2)), 2},
		{rule.SlidingLog(rule.PerSecond(7)), 0},
		{engine.DenyAll(), 7},
	} {
		if got := denied(c.limit, times); got != c.want {
			t.Errorf("%s: %d, want %d", c.limit, got, c.want)
		}
	}
}
