package conform

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	_ "time/tzdata"

	"github.com/headgate/headgate/conform/model"
	"github.com/headgate/headgate/conform/script"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/storetest"
	"github.com/headgate/headgate/storetest/vectors"
)

// steps is the number of steps for each algorithm: `make test-full` sets 10^6.
var steps = flag.Int("steps", 1000, "differential steps an algorithm")

// seed starts the random scripts; a failure prints its own seed.
var seed = flag.Uint64("seed", 1, "first seed of the differential scripts")

// redisSteps is the number of steps for each algorithm on each deployment of Redis.
var redisSteps = flag.Int("redis-steps", 1000, "differential steps an algorithm, deployment and client")

// caseSteps is the length of one script: long enough that later steps depend on earlier
// ones.
const caseSteps = 50

// kinds are what changes in the scripts in addition to the time.
var kinds = map[string]script.Options{
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
}

// TestDifferential sends the same random scripts through the memory store and the
// big-integer model, which share no code, and compares every field of every step. Clock
// steps and several limits are not combined here: a store may drop an expired state while
// it adds another, and a clock set back by the test then shows that.
func TestDifferential(t *testing.T) {
	for _, algorithm := range script.Algorithms {
		for name, options := range kinds {
			t.Run(algorithm+"/"+name, func(t *testing.T) {
				t.Parallel()
				cases := max(1, *steps/caseSteps/len(kinds))
				for i := range cases {
					differ(t, algorithm, options, *seed+uint64(i))
				}
			})
		}
	}
}

// TestEveryAlgorithmIsTried names the suites that an algorithm is missing from.
func TestEveryAlgorithmIsTried(t *testing.T) {
	tried := map[string]func(algo.Algorithm) bool{
		"storetest.Examples": func(a algo.Algorithm) bool { _, ok := storetest.Examples()[a]; return ok },
		"script.Algorithms":  func(a algo.Algorithm) bool { return slices.Contains(script.Algorithms, a.String()) },
		"versions":           func(a algo.Algorithm) bool { return versions[a.String()] != nil },
		"bounds": func(a algo.Algorithm) bool {
			return a == algo.Pacer || slices.ContainsFunc(bounds(), func(b bound) bool { return b.limit.Algorithm() == a })
		},
	}
	for a := algo.TokenBucket; a <= algo.Unlimited; a++ {
		if a == algo.Concurrency || a == algo.DenyAll || a == algo.Unlimited {
			continue // they have suites of their own
		}
		for _, name := range slices.Sorted(maps.Keys(tried)) {
			if !tried[name](a) {
				t.Errorf("%s is not in %s; CONTRIBUTING.md, \"Adding an algorithm\", lists the places", a, name)
			}
		}
	}
}

func differ(t *testing.T, algorithm string, options script.Options, seed uint64) {
	t.Helper()
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	differOn(t, store, clock, algorithm, "", options, seed)
}

// differOn runs one script on a store, in its own name space.
func differOn(t *testing.T, store engine.Store, clock *headgatetest.Clock, algorithm, kind string, options script.Options, seed uint64) {
	t.Helper()
	c := script.Generate(rand.New(rand.NewPCG(seed, 0)), algorithm, caseSteps, options)
	file := translate(t, c)
	space := fmt.Sprintf("%s-%s-%d", algorithm, kind, seed)
	different, err := file.Replay(context.Background(), store, space, clock.Set)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if len(different) > 0 {
		first := different[0]
		t.Fatalf("%s, seed %d: %d differences, the first: %s\n%s\nshrunk: %s", kind, seed, len(different), first, history(c, first.Step),
			shrink(t, store, clock, c))
	}
	if err := file.Forget(context.Background(), store, space); err != nil {
		t.Fatal(err)
	}
}

// translate passes a case on as a file does: the two sides share a format.
func translate(t *testing.T, c model.Case) vectors.File {
	t.Helper()
	data, err := json.Marshal(model.File{Cases: []model.Case{c}})
	if err != nil {
		t.Fatal(err)
	}
	file, err := vectors.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// history shows the steps that led to a difference.
func history(c model.Case, step int) string {
	text := ""
	for i := max(0, step-8); i <= step; i++ {
		limits, _ := json.Marshal(c.LimitSets[c.Steps[i].Set])
		want, _ := json.Marshal(c.Steps[i])
		text += fmt.Sprintf("%d %s\n   %s\n", i, limits, want)
	}
	return text
}
