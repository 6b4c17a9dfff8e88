package lua

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/differential"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// TestSharesDifferential uses many keys of fair-share limits, in calls with many operations.
func TestSharesDifferential(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	for seed := range uint64(raced.Size(6, 3)) { // under the race detector, one seed for each burst
		clock := headgatetest.NewClock()
		store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Prefix: fmt.Sprint(seed), Clock: clock.Now})
		differential.RunShares(t, store, clock, *differential.Seed+seed, raced.Size(200, 60))
	}
}

// TestShareInItsPlace checks that a key or its group is not found at a wrong offset if its bytes happen to span two
// entries.
func TestShareInItsPlace(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	clock := headgatetest.NewClock()
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Clock: clock.Now})
	op, results := engine.Single(engine.OpPeek, "ann", rule.FairShare(rule.PerSecond(10), rule.Burst(20)), 1), make([]engine.Answer, 1)
	op.Space = "s"
	own := sha256.Sum256([]byte("ann"))
	var state bytes.Buffer
	write := func(v any) { _ = binary.Write(&state, binary.BigEndian, v) }
	state.WriteByte(1)
	write(clock.Now().UnixMicro())
	state.Write([]byte{0, 0, 0, 0, 0, 0, 10}) // 10 tokens are missing
	state.Write(make([]byte, 7))
	state.Write([]byte{0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0x86, 0xa0}[:6])
	state.Write([]byte{0, 0, 0, 0, 1, 0x86, 0xa0}) // 1 token per 100 ms
	write(uint32(3 << 20))
	for range 2 { // the bytes of ann span both entries
		state.Write(append(make([]byte, 8), own[:4]...))
		state.Write(append(append([]byte{}, own[4:8]...), 0, 16, 0, 0, 0, 16, 0, 0))
	}
	s.Text("set", store.Keys(&op)[0], state.String(), "px", "60000")
	nested := rule.FairShare(rule.PerSecond(10), rule.Burst(20), engine.Setting{Field: "nested"})
	for limit, remaining := range map[engine.Limit]int64{op.Charges[0].Limit: 5, nested: 4} {
		op.Charges[0].Limit = limit
		if store.Do(context.Background(), []engine.Op{op}, results); results[0].Err != nil || results[0].Binds().Remaining != remaining {
			t.Errorf("%s: %+v; want %d remaining of 10 for a key without a part", limit, results[0], remaining)
		}
	}
}

// TestSharesOfReleasedPermits checks that a key leaves nothing in the store once it holds no permits, while others do.
// The names of keys are the clients', so what each left would grow without bound.
func TestSharesOfReleasedPermits(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	clock := headgatetest.NewClock()
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Clock: clock.Now})
	limit := rule.FairConcurrency(20)
	results := make([]engine.Answer, 1)
	do := func(kind engine.Kind, key string) *engine.Op {
		op := &engine.Op{Kind: kind, Space: "s", Key: key, ID: key, Charges: []engine.Charge{{Limit: limit, Cost: 1}}}
		if store.Do(context.Background(), []engine.Op{*op}, results); results[0].Err != nil || !results[0].Allowed {
			t.Fatalf("%s: %+v", key, results[0])
		}
		return op
	}
	hash := store.Keys(do(engine.OpAcquire, "bob"))[1]
	before := s.Text("hgetall", hash)
	do(engine.OpAcquire, "ann")
	do(engine.OpRelease, "ann")
	if got := s.Text("hgetall", hash); got != before {
		t.Errorf("the hash is %q, want %q as before", got, before)
	}
}
