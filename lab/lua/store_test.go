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

// TestStore runs all cases of storetest and scenarios, and checks the keys after every call.
func TestStore(t *testing.T) {
	testbed.Everywhere(t, func(t *testing.T, d testbed.Deployment, client string, open testbed.Open) {
		audited := func(t *testing.T, now func() time.Time) engine.Store {
			t.Helper()
			own := testbed.Prefix()
			return testbed.Audit(t, open(t, redisstore.Config{Prefix: own, Clock: now}), own, d.Holders())
		}
		t.Run("storetest", func(t *testing.T) {
			scenarios.Run(t, storetest.Options{Once: !*borrowed, New: audited})
		})
		t.Run("batch", func(t *testing.T) {
			if !*borrowed && len(d.Holders()) > 1 {
				t.Skip("with -borrowed, as in make test-full")
			}
			scenarios.Run(t, storetest.Options{Once: !*borrowed, New: func(t *testing.T, now func() time.Time) engine.Store {
				t.Helper()
				return testbed.Together(t, audited(t, now))
			}})
		})
		t.Run("coordinator", func(t *testing.T) {
			storetest.RunCoordinator(t, storetest.CoordinatorOptions{New: func(t *testing.T, now func() time.Time) storetest.Coordinating {
				t.Helper()
				return open(t, redisstore.Config{Prefix: testbed.Prefix(), Clock: now})
			}})
		})
	})
}
