package differential

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/lab/model"
	"github.com/headgate/headgate/lab/script"
	"github.com/headgate/headgate/memstore"
)

// forgetful is a store that finds no reservation.
type forgetful struct{ engine.Store }

func (f forgetful) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	f.Store.Do(ctx, ops, results)
	for i := range ops {
		results[i].Found = results[i].Found && ops[i].Kind != engine.OpSettle
	}
}

// TestShrink checks that a script with reservations shrinks to the few steps that show a difference, and that the same
// steps have the same answers again.
func TestShrink(t *testing.T) {
	clock := headgatetest.NewClock()
	memory, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	shrunk := 0
	for seed := range uint64(10) {
		c := script.Generate(rand.New(rand.NewPCG(seed, 0)), model.TokenBucket, CaseSteps, Kinds["held"])
		again := model.Case{LimitSets: c.LimitSets, Steps: slices.Clone(c.Steps)}
		if differs, err := Differs(t, memory, clock, &again); differs || err != nil || !reflect.DeepEqual(c, again) {
			t.Fatalf("seed %d: the answers to the same steps differ: %t, %v", seed, differs, err)
		}
		if differs, err := Differs(t, forgetful{memory}, clock, &again); !differs {
			if err != nil {
				t.Fatal(err)
			}
			continue // no step settles anything
		}
		shrunk++
		var file model.File
		if err := json.Unmarshal([]byte(shrink(t, forgetful{memory}, clock, c)), &file); err != nil {
			t.Fatal(err)
		}
		steps := file.Cases[0].Steps
		last := steps[len(steps)-1]
		settles := last.Op == model.Settle && steps[last.Of-1].Op == model.Reserve && *last.Want.Granted == 1
		if len(steps) > 4 || !settles {
			t.Errorf("seed %d is shrunk to %+v", seed, steps)
		}
	}
	if shrunk == 0 {
		t.Error("no script was shrunk")
	}
}
