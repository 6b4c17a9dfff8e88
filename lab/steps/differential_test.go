package steps

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	_ "time/tzdata"

	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/lab/differential"
	"github.com/headgate/headgate/lab/rolling"
	"github.com/headgate/headgate/lab/script"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/storetest"
)

// TestDifferential runs the same random scripts on the memory store and on the big-integer model, which share no code,
// and compares every field of every step. It does not combine clock steps with several limits, because a store may
// drop an expired state while it adds another, which would become visible when the clock goes back.
func TestDifferential(t *testing.T) {
	for _, algorithm := range script.Algorithms {
		for name, options := range differential.Kinds {
			t.Run(algorithm+"/"+name, func(t *testing.T) {
				t.Parallel()
				cases := max(1, *differential.Steps/differential.CaseSteps/len(differential.Kinds))
				for i := range cases {
					differ(t, algorithm, options, *differential.Seed+uint64(i))
				}
			})
		}
	}
}

// TestKnownSeeds runs scripts that once had a difference: in the first, a charge counts from the instant 0, in 1970
// (regression: bug 264).
func TestKnownSeeds(t *testing.T) {
	differ(t, "sliding-window", differential.Kinds["reserved"], 777026)
}

// TestSharesDifferential compares the memory store with the model for many keys under fair-share limits, and for so
// many charges that parts shrink.
func TestSharesDifferential(t *testing.T) {
	for seed := range uint64(raced.Size(6, 3)) { // under the race detector, one seed for each burst
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			clock := headgatetest.NewClock()
			store, err := memstore.New(memstore.Config{Clock: clock.Now})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			differential.RunShares(t, store, clock, *differential.Seed+seed, raced.Size(200, 60))
		})
	}
}

// TestEveryAlgorithmIsTried reports test suites that do not cover an algorithm.
func TestEveryAlgorithmIsTried(t *testing.T) {
	tried := map[string]func(algo.Algorithm) bool{
		"storetest.Examples": func(a algo.Algorithm) bool { _, ok := storetest.Examples()[a]; return ok },
		"script.Algorithms":  func(a algo.Algorithm) bool { return slices.Contains(script.Algorithms, a.String()) },
		"versions":           func(a algo.Algorithm) bool { return rolling.Draws[a.String()] != nil },
		"bounds": func(a algo.Algorithm) bool {
			return a.Paces() || slices.ContainsFunc(bounds(), func(b bound) bool { return b.limit.Algorithm() == a })
		},
	}
	for _, a := range algo.Algorithms() {
		if a.Holds() || a.Constant() || a.Punishes() {
			continue // these have their own suites
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
	differential.Run(t, store, clock, algorithm, "", options, seed)
}
