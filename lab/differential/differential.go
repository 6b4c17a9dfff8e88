package differential

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	_ "time/tzdata"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/lab/model"
	"github.com/headgate/headgate/lab/script"
	"github.com/headgate/headgate/storetest/vectors"
)

// Steps is the number of steps per algorithm. `make test-full` sets it to 10^6.
var Steps = flag.Int("steps", 1000, "differential steps an algorithm")

// Seed is the seed for the random scripts. A failure prints the seed, so that it can be repeated.
var Seed = flag.Uint64("seed", 1, "first seed of the differential scripts")

// CaseSteps is the length of one script. It is long enough for later steps to depend on earlier ones.
const CaseSteps = 50

// Kinds maps the name of each kind of script to the options that generate it.
var Kinds = map[string]script.Options{
	"forward":  {},
	"clock":    {ClockSteps: true},
	"changes":  {Changes: true},
	"both":     {ClockSteps: true, Changes: true},
	"all":      {All: true},
	"big":      {Big: true},
	"extras":   {Extras: true},
	"together": {Changes: true, All: true, Big: true, Extras: true},
	"single":   {ClockSteps: true, Changes: true, Big: true, Extras: true},
	"reserved": {Changes: true, Big: true, Extras: true, Reserve: true},
	"held":     {Changes: true, All: true, Extras: true, Reserve: true},
	"first":    {Changes: true, All: true, Extras: true, Reserve: true, Lists: true, First: true},
	"lists":    {Changes: true, All: true, Extras: true, Reserve: true, Lists: true},
}

// Run runs one script on a store, in its own namespace.
func Run(t *testing.T, store engine.Store, clock *headgatetest.Clock, algorithm, kind string, options script.Options, seed uint64) {
	t.Helper()
	c := script.Generate(rand.New(rand.NewPCG(seed, 0)), algorithm, CaseSteps, options)
	space := fmt.Sprintf("%s-%s-%d", algorithm, kind, seed)
	file := translate(t, c, space)
	different, err := file.Replay(context.Background(), store, space, clock.Set)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if len(different) > 0 {
		first := different[0]
		t.Fatalf("%s, seed %d: %d differences, the first: %s\n%s\nshrunk: %s", kind, seed, len(different), first, history(t, &c, first.Step),
			shrink(t, store, clock, c))
	}
	if err := file.Forget(context.Background(), store, space); err != nil {
		t.Fatal(err)
	}
}

// translate converts a case to the file format that stores replay. All keys of a fair-share limit in the namespace share
// one counter. translate puts the keys of lists in the same slot as this counter.
func translate(t *testing.T, c model.Case, space string) vectors.File {
	t.Helper()
	data, err := json.Marshal(model.File{Cases: []model.Case{c}})
	if err != nil {
		t.Fatal(err)
	}
	file, err := vectors.Parse(bytes.ReplaceAll(data, []byte("{list}"), []byte("{*"+space+"}")))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// history formats the step with a difference and the eight steps before it.
func history(t *testing.T, c *model.Case, step int) string {
	t.Helper()
	var text strings.Builder
	for i := max(0, step-8); i <= step; i++ {
		for _, part := range []any{c.LimitSets[c.Steps[i].Set], c.Steps[i]} {
			data, err := json.Marshal(part)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&text, "%d %s\n", i, data)
		}
	}
	return text.String()
}
