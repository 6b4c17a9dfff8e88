package lua

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/conform/redistest"
	"github.com/headgate/headgate/conform/testbed"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/redisstore"
)

const day = 24 * time.Hour

// wide lists limits, each with the cost of a charge on a new key, and the bytes of the resulting state.
var wide = []struct {
	limit engine.Limit
	cost  int64
	state string
}{
	// Numbers that fit into 4 bytes are stored in the form that builds with a maximum of 2^32−1 units also use.
	{rule.TokenBucket(rule.PerSecond(10)), 1, "02 0006474846204000 00000000000001 00000000000000 00000001 000000000186a0"},
	{rule.TokenBucket(rule.Per(1<<32-1, day), rule.Burst(1<<47)), 1 << 46, "02 0006474846204000 00400000000000 00000000000000 11111111 0000015752a000"},
	{rule.FixedWindow(rule.PerDay(algo.MaxUnits)), 1<<32 - 1, "02 ffffffff 0006475c63f7a000"},
	{rule.WarmUp(rule.PerSecond(10), time.Second), 1, "02 0006474846204000 00000000000002 00000000013880 00000001 000000000186a0 00000000000001 0000000003d091"},
	// Larger numbers take 6 bytes.
	{rule.TokenBucket(rule.Per(1<<32+1, day)), 1, "03 0006474846204000 00000000000001 00000000000000 000100000001 0000141dd76000"},
	{rule.Pacer(rule.Per(1<<32+1, day), rule.MaxQueue(1<<46)), 1, "03 0006474846204000 00000000000001 00000000000000 000100000001 0000141dd76000"},
	{rule.TokenBucket(rule.Per(1<<32, 1001*time.Microsecond)), 1, "03 0006474846204000 00000000000001 00000000000000 000100000000 000000000003e9"},
	{rule.WarmUp(rule.Per(1<<32, 1001*time.Microsecond), time.Millisecond), 1, "03 0006474846204000 00000000000003 00000000000000 000100000000 000000000003e9 00000000000001 000000000000fb"},
	{rule.FixedWindow(rule.PerDay(algo.MaxUnits)), 1 << 32, "03 000100000000 0006475c63f7a000"},
	{rule.WarmUp(rule.Per(1<<32+1, day), day), 1, "03 0006474846204000 00000000000002 0000141dd75fd8 000100000001 0000141dd76000 00000000000001 0000050775d801"},
}

// TestWideStates checks that only a number above 2^32−1 makes a state longer, so that both builds can share all other
// states.
func TestWideStates(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	for i, c := range wide {
		clock := headgatetest.NewClock()
		store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Clock: clock.Now})
		var ops []engine.Op // one operation alone, and two together
		for key := range 3 {
			op := engine.Single(engine.OpAllow, fmt.Sprint("k", i, ".", key), c.limit, c.cost)
			op.Space = "s"
			ops = append(ops, op)
		}
		results := make([]engine.Result, 3)
		store.Do(context.Background(), ops[:1], results[:1])
		store.Do(context.Background(), ops[1:], results[1:])
		for key := range ops {
			got := fmt.Sprintf("%x", s.Text("get", store.Keys(&ops[key])[0]))
			if r := &results[key]; r.Err != nil || !r.Outcome.Allowed || got != strings.ReplaceAll(c.state, " ", "") {
				t.Errorf("%s: %+v; stored as %s, want %s", c.limit, *r, got, c.state)
			}
		}
		refusesCut(t, s, store, &ops[0])
	}
}

// refusesCut checks that a state in one form causes an error if it begins with the other form's first byte.
func refusesCut(t *testing.T, s *redistest.Server, store *redisstore.Store, op *engine.Op) {
	t.Helper()
	key := store.Keys(op)[0]
	state := []byte(s.Text("get", key))
	state[0] ^= 1
	s.MustDo("set", key, string(state), "keepttl")
	class := redisstore.Newer
	if state[0] == 2 {
		class = redisstore.Garbage
	}
	results := make([]engine.Result, 1)
	store.Do(context.Background(), []engine.Op{*op}, results)
	testbed.WantClass(t, results[0], class)
}
