package lua

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

const day = 24 * time.Hour

// stored lists limits, each with the cost of a charge on a new key, and the bytes of the resulting state.
var stored = []struct {
	limit engine.Limit
	cost  int64
	state string
}{
	{rule.TokenBucket(rule.PerSecond(10)), 1, "01 06474846204000 000000000186a0 000000000001 000000000186a0"},
	{rule.TokenBucket(rule.Per(1<<32+1, day)), 1, "01 06474846204000 0000141dd76000 000100000001 0000141dd76000"},
	{rule.Pacer(rule.Per(1<<32+1, day), rule.MaxQueue(1<<46)), 1, "01 06474846204000 0000141dd76000 000100000001 0000141dd76000"},
	{rule.TokenBucket(rule.Per(1<<32+1, day)), 1 << 32, "01 0006474846204000 00000100000000 00000000000000 000100000001 0000141dd76000"},
	{rule.FixedWindow(rule.PerDay(algo.MaxUnits)), 1 << 32, "01 000100000000 0006475c63f7a000"},
	{rule.WarmUp(rule.Per(1<<32+1, day), day), 1, "01 0006474846204000 00000000000002 0000141dd75fd8 000100000001 0000141dd76000 00000000000001 0000050775d801"},
}

// TestStateBytes checks the bytes of states against docs/design/keys.md, and that a newer state is refused.
func TestStateBytes(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	for i, c := range stored {
		clock := headgatetest.NewClock()
		store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Clock: clock.Now})
		var ops []engine.Op // one operation alone, and two together
		for key := range 3 {
			op := engine.Single(engine.OpAllow, fmt.Sprint("k", i, ".", key), c.limit, c.cost)
			op.Space = "s"
			ops = append(ops, op)
		}
		results := make([]engine.Answer, 3)
		store.Do(context.Background(), ops[:1], results[:1])
		store.Do(context.Background(), ops[1:], results[1:])
		for key := range ops {
			got := fmt.Sprintf("%x", s.Text("get", store.Keys(&ops[key])[0]))
			if r := &results[key]; r.Err != nil || !r.Allowed || got != strings.ReplaceAll(c.state, " ", "") {
				t.Errorf("%s: %+v; stored as %s, want %s", c.limit, *r, got, c.state)
			}
		}
		refusesNewer(t, s, store, &ops[0])
	}
}

// refusesNewer checks that a state of a newer format causes an error.
func refusesNewer(t *testing.T, s *redistest.Server, store *redisstore.Store, op *engine.Op) {
	t.Helper()
	s.MustDo("setrange", store.Keys(op)[0], "0", "\x02")
	results := make([]engine.Answer, 1)
	store.Do(context.Background(), []engine.Op{*op}, results)
	testbed.WantClass(t, results[0], redisstore.Newer)
}
