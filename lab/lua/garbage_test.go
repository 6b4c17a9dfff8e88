package lua

import (
	"context"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// TestSettlementFindsKeyOfOtherType checks that a settlement fails and charges nothing if another program has
// replaced its mark with a hash.
func TestSettlementFindsKeyOfOtherType(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	requests, tokens := rule.FixedWindow(rule.PerHour(100)), rule.TokenBucket(rule.PerHour(100))
	reserve := engine.Op{Kind: engine.OpReserve, Space: "s", Key: "k", ID: "one", Charges: []engine.Charge{{Limit: requests, Cost: 1}, {Limit: tokens, Cost: 40}}}
	do := func(op engine.Op) engine.Answer {
		results := make([]engine.Answer, 1)
		store.Do(context.Background(), []engine.Op{op}, results)
		return results[0]
	}
	reserved := do(reserve)
	if reserved.Err != nil || !reserved.Allowed {
		t.Fatalf("reserve: %+v", reserved)
	}
	settle := reserved.Reservation(&reserve, "one").Settle(10)
	mark := store.Keys(&settle)[0]
	s.MustDo("hset", mark, "f", "v")
	testbed.WantClass(t, do(settle), redisstore.WrongType)
	s.MustDo("del", mark)
	if got := do(settle); got.Err != nil || !got.Found || got.Of(1).Remaining != 90 {
		t.Errorf("the settlement without it: %+v, want 90 tokens left", got)
	}
}

// TestEvictedUnitsExpire checks that if a server evicts the permits' units but not their expiry, the units are restored
// with an expiry.
func TestEvictedUnitsExpire(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	acquire := func(id string, lease time.Duration) []string {
		op := engine.Op{Kind: engine.OpAcquire, Space: "s", Key: "k", ID: id, Charges: []engine.Charge{{Limit: rule.Concurrency(3, rule.LeaseTime(lease)), Cost: 1}}}
		results := make([]engine.Answer, 1)
		store.Do(context.Background(), []engine.Op{op}, results)
		if results[0].Err != nil || !results[0].Allowed {
			t.Fatalf("%s: %+v", id, results[0])
		}
		return store.Keys(&op)
	}
	keys := acquire("long", time.Hour)
	s.MustDo("del", keys[1])
	acquire("short", time.Second)
	for _, key := range keys {
		if left, _ := s.MustDo("pttl", key).(int64); left < 3_000_000 {
			t.Errorf("%s lives for %d ms, want the hour of the longer lease", key, left)
		}
	}
}

// TestMergedAllowFindsKeyOfOtherType checks that merged allows detect a key of another type, whether or not their
// units would pass. MGET does not distinguish such a key from an absent one.
func TestMergedAllowFindsKeyOfOtherType(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	for _, limit := range []engine.Limit{rule.TokenBucket(rule.PerHour(10)), rule.FixedWindow(rule.PerHour(10))} {
		for _, cost := range []int64{1, 11} {
			ops := []engine.Op{engine.Single(engine.OpAllow, "absent", limit, cost), engine.Single(engine.OpAllow, "other", limit, cost)}
			key := store.Keys(&ops[1])[0]
			s.MustDo("hset", key, "f", "v")
			results := make([]engine.Answer, len(ops))
			store.Do(context.Background(), ops, results)
			if results[0].Err != nil || results[0].Allowed != (cost == 1) {
				t.Errorf("%s: %d units of an absent key: %+v", limit, cost, results[0])
			}
			testbed.WantClass(t, results[1], redisstore.WrongType)
			if got := s.MustDo("hget", key, "f"); got != "v" {
				t.Errorf("%s: the key of another type has %v now", limit, got)
			}
		}
		s.MustDo("flushall")
	}
}
