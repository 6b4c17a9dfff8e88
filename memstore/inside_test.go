package memstore

import (
	"math/rand/v2"
	"testing"

	"github.com/headgate/headgate/algo"
)

// TestWallNeverGoesBack: windows by the clock follow the wall clock, never
// backwards.
func TestWallNeverGoesBack(t *testing.T) {
	var c clock
	for _, s := range [][2]int64{{5, 5}, {3, 5}, {5, 5}, {6, 6}, {0, 6}} {
		if got := c.forward(s[0]); got != s[1] {
			t.Errorf("the wall clock says %d: %d, want %d", s[0], got, s[1])
		}
	}
}

// TestQueueOrder: whatever is removed, no entry comes before its parent, and
// each knows its place.
func TestQueueOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var q queue
	for range 20_000 {
		if len(q) > 0 && random.IntN(2) == 0 {
			q.remove(random.IntN(len(q)))
		} else {
			q.push(&entry{bound: random.Int64N(100)})
		}
		for i, e := range q {
			if e.index != i || q[(i-1)/2].bound > e.bound {
				t.Fatalf("of %d entries number %d is out of place", len(q), i)
			}
		}
		if len(q) > 40 {
			q = q[:0]
		}
	}
}

// TestSoonestShard: the lowest bound, and the lowest of all others.
func TestSoonestShard(t *testing.T) {
	for _, c := range []struct {
		bounds []int64
		index  int
		others int64
	}{
		{[]int64{never, never}, -1, never},
		{[]int64{never, 4}, 1, never},
		{[]int64{5, 9, 3, 7}, 2, 5},
		{[]int64{3, 5, 9, 7}, 0, 5},
		{[]int64{9, 7, 5, 3}, 3, 5},
	} {
		s := &Store{shards: make([]shard, len(c.bounds))}
		for i, bound := range c.bounds {
			s.shards[i].soonest.Store(bound)
		}
		if index, others := s.soonestShard(); index != c.index || others != c.others {
			t.Errorf("%v: %d and %d, want %d and %d", c.bounds, index, others, c.index, c.others)
		}
	}
}

// TestExpiresNow: what expires at this very instant is dropped, not evicted.
func TestExpiresNow(t *testing.T) {
	s, err := New(Config{MaxKeys: 1, WhenFull: Evict})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		now  int64
		want Stats
	}{{99, Stats{Evicted: 1}}, {100, Stats{Evicted: 1, Expired: 1}}} {
		s.keys.Add(1)
		s.shards[0].insert(id{key: "k"}, algo.State{}, 100)
		if ok := s.makeRoom(c.now); !ok || s.Stats() != c.want {
			t.Errorf("at %d: %v, %+v, want %+v", c.now, ok, s.Stats(), c.want)
		}
	}
}
