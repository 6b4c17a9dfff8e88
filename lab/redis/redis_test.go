package redis

import (
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/lab/linearize"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// TestLinearizable searches for a sequential order of the answers to 64 goroutines, with and without group commit, and
// of the answers to four processes that do not communicate.
func TestLinearizable(t *testing.T) {
	testbed.Everywhere(t, func(t *testing.T, d testbed.Deployment, client string, open testbed.Open) {
		for _, limit := range linearize.Limits() {
			own := func() engine.Store { return open(t, redisstore.Config{Prefix: testbed.Prefix()}) }
			linearize.Check(t, limit, linearize.Record(own(), limit, 64))
			linearize.Check(t, limit, linearize.Record(testbed.Together(t, own()), limit, 64))
		}
		linearOverProcesses(t, client, d)
	})
}
