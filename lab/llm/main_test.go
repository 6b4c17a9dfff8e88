// Package llm tests calls to language models on every kind of store. A call is a list of charges. Two processes that
// share a store reserve and settle such calls. The numbers come from bug reports about other limiters.
package llm

import (
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/redisstore"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// world is a store with a clock set by the scenario.
type world struct {
	*testing.T

	clock *headgatetest.Clock
	a, b  process // on Redis, the first uses rueidis and the second go-redis
	// restart kills process a and returns its replacement.
	restart func() process
	holders []*redistest.Server // the servers with the keys; none for a memory store
	prefix  string              // of the keys on these servers
	mode    engine.Mode         // the expected mode of decisions about several keys
}

// scenarios run on each store. Each scenario uses its own keys.
var scenarios = []struct {
	name string
	run  func(w *world)
}{
	{"parallel calls", parallelCalls},
	{"parallel calls with a limit of one", limitOfOne},
	{"the organisation is full", organisationFull},
	{"commits from two processes", commitsFromTwoProcesses},
	{"more used than a limit has", moreThanTheLimit},
	{"less used than estimated", lessThanEstimated},
	{"an estimate above the limit", estimateAboveTheLimit},
	{"streams that are cut", cutStreams},
	{"flooded by a class", floodedByAClass},
	{"ten thousand open reservations", tenThousandOpen},
}

// TestCalls runs the scenarios in memory, on a single Redis, and on a Cluster where the keys are on different slots.
func TestCalls(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		for _, s := range scenarios {
			t.Run(s.name, func(t *testing.T) {
				s.run(inMemory(t))
			})
		}
	})
	for name, d := range map[string]struct {
		start func(t *testing.T) testbed.Deployment
		mode  engine.Mode
	}{
		"redis":   {func(t *testing.T) testbed.Deployment { return testbed.Standalone(t, redistest.Redis) }, engine.Exact},
		"cluster": {testbed.Cluster, engine.Split},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := testbed.Guard(t, d.start(t))
			for _, s := range scenarios {
				t.Run(s.name, func(t *testing.T) {
					clock := headgatetest.NewClock()
					config := redisstore.Config{Prefix: testbed.Prefix(), Clock: clock.Now}
					open := func(by testbed.Opener) (process, *redisstore.Store) {
						store := by(t, servers, config)
						return newProcess(t, store), store
					}
					a, ends := open(testbed.OpenRueidis)
					b, _ := open(testbed.OpenGoredis)
					w := &world{T: t, clock: clock, a: a, b: b, holders: servers.Holders(), prefix: config.Prefix, mode: d.mode}
					w.restart = func() process {
						_, _ = a.Close(), ends.Close()
						again, _ := open(testbed.OpenRueidis)
						return again
					}
					s.run(w)
				})
			}
		})
	}
}

// inMemory returns a world in memory.
func inMemory(t *testing.T) *world {
	t.Helper()
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	open := func() process { return newProcess(t, store) }
	return &world{T: t, clock: clock, a: open(), b: open(), restart: open, mode: engine.Exact}
}
