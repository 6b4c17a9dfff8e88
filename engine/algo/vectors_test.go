package algo_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/storetest/vectors"
)

// TestVectors replays the recorded vectors through the steps, and compares every field of the answers.
func TestVectors(t *testing.T) {
	files, err := filepath.Glob("../../storetest/vectors/*.json")
	if err != nil || len(files) < 14 {
		t.Fatalf("found %d vector files, want at least 14 (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			f, err := vectors.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range f.Cases {
				stored := map[counter]algo.State{}
				for j, s := range c.Steps {
					if got := replay(t, stored, c.Sets[s.Set], s); got.String() != s.Want.String() {
						t.Fatalf("case %d step %d: %+v %s %d\n got %s\nwant %s", i, j, c.Sets[s.Set], s.Op, s.N, got, s.Want)
					}
				}
			}
		})
	}
}

// counter is the name of a limit's counter.
type counter struct {
	algorithm, name string
	grid            algo.Grid
}

func replay(t *testing.T, stored map[counter]algo.State, set []vectors.Limit, s vectors.Step) vectors.Answer {
	t.Helper()
	steps, counters := make([]algo.Step, len(set)), make([]counter, len(set))
	for i := range set {
		limit, err := set[i].Build()
		if err != nil {
			t.Fatal(err)
		}
		counters[i] = counter{set[i].Algorithm, limit.Name(), limit.Numbers().Grid()}
		steps[i] = algo.Step{Limit: limit.Numbers(), Cost: s.N, State: stored[counters[i]]}
	}
	now := algo.Instant{Now: s.At, Wall: s.At}
	a := vectors.Answer{Allowed: true}
	switch s.Op {
	case "take":
		a.Allowed = algo.Allow(steps, now)
	case "peek":
		a.Allowed = algo.Peek(steps, now)
	case "give":
		algo.Give(steps, now)
	case "atmost":
		a.Granted = algo.AtMost(steps, now)
		a.Allowed = a.Granted > 0
	}
	for i := range set {
		if steps[i].Write {
			if stored[counters[i]] = steps[i].State; steps[i].TTL == 0 {
				delete(stored, counters[i])
			}
		}
		a.Delay = max(a.Delay, steps[i].Outcome.Delay)
	}
	o := steps[algo.Binding(steps, a.Allowed)].Outcome
	a.Limit, a.Remaining, a.Reset = o.Limit, o.Remaining, o.Reset
	if o.Wait != algo.Never {
		a.Retry = &o.Wait
	}
	return a
}
