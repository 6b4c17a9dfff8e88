package algo_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/rule"
)

// A state that no charge can have produced, such as one from a damaged snapshot, is treated as no state: all units of
// the limit are available.
func TestDamagedGuaranteesAreFull(t *testing.T) {
	limit := func(guarantees string, rank int64) *algo.Limit {
		l := rule.GuaranteedRate(rule.PerSecond(10), guarantees, rule.Burst(10), engine.Setting{Field: "rank", Units: rank})
		if l.Err() != nil {
			t.Fatal(l.Err())
		}
		return l.Numbers()
	}
	spend := func(l *algo.Limit, state algo.State) *algo.Step {
		now := time.Second.Microseconds()
		steps := []algo.Step{{Limit: l, Cost: 2, State: state}}
		algo.Allow(steps, algo.Instant{Now: now, Wall: now})
		return &steps[0]
	}
	two, ofBurst, none := limit("5:5,0", 1), limit("5:9,0", 1), limit("0,5:4", 1)
	for name, c := range map[string]struct {
		state algo.State
		under *algo.Limit
	}{
		"of fewer classes":           {spend(two, algo.State{}).State, limit("5:5,0,0", 3)},
		"an own bucket without rate": {spend(ofBurst, algo.State{}).State, none},
	} {
		step := spend(c.under, c.state)
		if whole := spend(c.under, algo.State{}); step.Outcome != whole.Outcome {
			t.Errorf("%s: %+v, want %+v as of a full limit", name, step.Outcome, whole.Outcome)
		}
	}
}
