package lua

import (
	"flag"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/lab/scenarios"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/storetest"
)

// borrowed repeats the cases with operations whose memory is overwritten after each call. The memory store's tests
// always do this.
var borrowed = flag.Bool("borrowed", false, "run the cases of a store also with borrowed memory")

// audited returns a function that opens a store whose keys are checked after every call.
func audited(d *testbed.Deployment, open testbed.Open) func(t *testing.T, now func() time.Time) engine.Store {
	return func(t *testing.T, now func() time.Time) engine.Store {
		t.Helper()
		own := testbed.Prefix()
		return testbed.Audit(t, open(t, redisstore.Config{Prefix: own, Clock: now}), own, d.Holders())
	}
}

// TestStoreInBatches runs all cases of storetest and scenarios through the layer that batches calls.
func TestStoreInBatches(t *testing.T) {
	testbed.EverywhereChosen(t, func(t *testing.T, d testbed.Deployment, client string, open testbed.Open) {
		own := audited(&d, open)
		scenarios.Run(t, storetest.Options{Once: !*borrowed, New: func(t *testing.T, now func() time.Time) engine.Store {
			t.Helper()
			return testbed.Together(t, own(t, now))
		}})
	})
}

// TestStore runs all cases of storetest and scenarios.
func TestStore(t *testing.T) {
	testbed.Everywhere(t, func(t *testing.T, d testbed.Deployment, client string, open testbed.Open) {
		t.Run("storetest", func(t *testing.T) {
			scenarios.Run(t, storetest.Options{Once: !*borrowed, New: audited(&d, open)})
		})
		t.Run("coordinator", func(t *testing.T) {
			storetest.RunCoordinator(t, storetest.CoordinatorOptions{New: func(t *testing.T, now func() time.Time) storetest.Coordinating {
				t.Helper()
				return open(t, redisstore.Config{Prefix: testbed.Prefix(), Clock: now})
			}})
		})
	})
}
