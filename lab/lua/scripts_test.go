package lua

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/lab/differential"
	"github.com/headgate/headgate/lab/script"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/storetest/vectors"
)

// redisSteps is the number of steps for each algorithm on each deployment of Redis.
var redisSteps = flag.Int("redis-steps", raced.Size(500, 100), "differential steps an algorithm, deployment and client")

// auditedSteps is the maximum length of a run whose keys are checked after each step. The check takes longer than the
// step itself.
const auditedSteps = 10_000

// TestScripts compares the scripts with exact answers, with the Go steps in calls of many operations, and with the
// model on random scripts.
func TestScripts(t *testing.T) {
	testbed.EverywhereChosen(t, func(t *testing.T, d testbed.Deployment, client string, open testbed.Open) {
		t.Run("vectors", func(t *testing.T) { replayVectors(t, open) })
		t.Run("batches", func(t *testing.T) { batches(t, open) })
		clock := headgatetest.NewClock()
		own := testbed.Prefix()
		var store engine.Store = open(t, redisstore.Config{Prefix: own, Clock: clock.Now})
		if *redisSteps <= auditedSteps {
			store = testbed.Audit(t, store, own, d.Holders())
		}
		for _, algorithm := range script.Algorithms {
			t.Run("differential/"+algorithm, func(t *testing.T) {
				for name, options := range differential.Kinds {
					for i := range max(1, *redisSteps/differential.CaseSteps/len(differential.Kinds)) {
						differential.Run(t, store, clock, algorithm, name, options, *differential.Seed+uint64(i))
					}
				}
			})
		}
		t.Run("differential/leases", func(t *testing.T) {
			for i := range max(1, *redisSteps/differential.CaseSteps/4) {
				differential.RunLeases(t, store, clock, *differential.Seed+uint64(i))
			}
		})
	})
}

// replayVectors checks that the store gives the exact answers recorded in storetest/vectors.
func replayVectors(t *testing.T, open func(testing.TB, redisstore.Config) *redisstore.Store) {
	t.Helper()
	files, err := filepath.Glob("../../storetest/vectors/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no vectors", err)
	}
	clock := headgatetest.NewClock()
	store := open(t, redisstore.Config{Prefix: testbed.Prefix(), Clock: clock.Now})
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := vectors.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		different, err := file.Replay(context.Background(), store, filepath.Base(name), clock.Set)
		if err != nil || len(different) > 0 {
			t.Errorf("%s: %d differences, %v: %v", name, len(different), different[:min(len(different), 3)], err)
		}
	}
}
