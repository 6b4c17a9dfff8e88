package conform

import (
	"cmp"
	"context"
	"crypto/rand"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	goredisadapter "github.com/headgate/headgate/adapter/goredis"
	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
	"github.com/headgate/headgate/conform/redistest"
	"github.com/headgate/headgate/conform/script"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/storetest"
	"github.com/headgate/headgate/storetest/vectors"
)

// deployment is Redis as a program may find it: its address, for either client, and the
// servers that hold keys.
type deployment struct {
	url     string
	goredis func() redis.UniversalClient
	shards  int
	hashes  int
	holders func() []*redistest.Server
	all     []*redistest.Server
	user    *user // the user that stores connect as; nil is the default user
	// whole runs the suites that depend on the client and on Go code alone: once for
	// one server, and once for a Cluster.
	whole bool
}

// deployments are the deployments on which all tests must pass.
var deployments = []struct {
	name  string
	start func(t *testing.T) deployment
}{
	{"redis", func(t *testing.T) deployment { return standalone(t, redistest.Redis) }},
	{"cluster", cluster},
	{"sharded", func(t *testing.T) deployment {
		d := cluster(t)
		d.shards = 8
		return d
	}},
	{"sentinel", sentinel},
	{"hashed", func(t *testing.T) deployment {
		d := standalone(t, redistest.Valkey) // the Cluster of the next one is of Redis
		d.hashes = 3
		return d
	}},
	{"hashed cluster", func(t *testing.T) deployment {
		d := cluster(t)
		d.shards, d.hashes = 8, 2
		return d
	}},
	{"valkey", func(t *testing.T) deployment { return standalone(t, redistest.Valkey) }},
}

func standalone(t *testing.T, flavor redistest.Flavor, config ...string) deployment {
	t.Helper()
	return standaloneOf(redistest.Standalone(t, flavor, config...))
}

func standaloneOf(s *redistest.Server) deployment {
	return deployment{
		url: "redis://" + s.Addr(),
		goredis: func() redis.UniversalClient {
			return redis.NewClient(&redis.Options{Addr: s.Addr(), ContextTimeoutEnabled: true, DisableIdentity: true})
		},
		holders: func() []*redistest.Server { return []*redistest.Server{s} },
		all:     []*redistest.Server{s},
	}
}

func cluster(t *testing.T) deployment {
	t.Helper()
	return clusterOf(redistest.Cluster(t, redistest.Redis))
}

func clusterOf(c *redistest.Nodes) deployment {
	return deployment{
		url: "redis+cluster://" + strings.Join(c.Addrs(), ","),
		goredis: func() redis.UniversalClient {
			return redis.NewClusterClient(&redis.ClusterOptions{
				Addrs: c.Addrs(), ContextTimeoutEnabled: true, DisableIdentity: true,
				ClusterStateReloadInterval: time.Second, DialerRetries: 1, DialTimeout: 2 * time.Second,
			})
		},
		holders: c.Primaries,
		all:     c.Servers,
	}
}

func sentinel(t *testing.T) deployment {
	t.Helper()
	return sentinelOf(redistest.Sentinel(t, redistest.Redis))
}

func sentinelOf(s *redistest.Sentinels) deployment {
	return deployment{
		url: "redis+sentinel://" + strings.Join(s.Addrs(), ",") + "/" + s.MasterName,
		goredis: func() redis.UniversalClient {
			return redis.NewFailoverClient(&redis.FailoverOptions{
				MasterName: s.MasterName, SentinelAddrs: s.Addrs(), ContextTimeoutEnabled: true, DisableIdentity: true,
				DialerRetries: 1, DialTimeout: 2 * time.Second,
			})
		},
		holders: func() []*redistest.Server { return []*redistest.Server{s.Primary()} },
		all:     s.Servers(),
	}
}

// auditedSteps is the longest run whose keys are checked after each step, because the
// check takes longer than the step.
const auditedSteps = 10_000

// adapters open a store on a deployment.
var adapters = []struct {
	name string
	open func(t testing.TB, d deployment, c redisstore.Config) *redisstore.Store
}{
	{"rueidis", openRueidis},
	{"goredis", openGoredis},
}

func openRueidis(t testing.TB, d deployment, c redisstore.Config) *redisstore.Store {
	t.Helper()
	c.Shards = d.shards
	c.Hashes = cmp.Or(c.Hashes, d.hashes)
	d.user.may(t, c.Prefix)
	store, err := rueidisadapter.Open(context.Background(), d.user.in(d.url), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// connOf returns a go-redis client's connection. The client is closed after the test.
func connOf(t testing.TB, client redis.UniversalClient) redisstore.Conn {
	t.Helper()
	t.Cleanup(func() { _ = client.Close() })
	conn, err := goredisadapter.New(client)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func openGoredis(t testing.TB, d deployment, c redisstore.Config) *redisstore.Store {
	t.Helper()
	c.Shards = d.shards
	c.Hashes = cmp.Or(c.Hashes, d.hashes)
	d.user.may(t, c.Prefix)
	client := d.goredis()
	d.user.of(client)
	store, err := redisstore.New(connOf(t, client), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// everywhere runs a test on every deployment with either client.
// everyClient has each deployment tried with every client. Without it one server is
// tried with both, and the other deployments with one of them in turns.
var everyClient = flag.Bool("every-client", false, "try every deployment of Redis with every client")

func everywhere(t *testing.T, test func(t *testing.T, d deployment, open func(t testing.TB, c redisstore.Config) *redisstore.Store)) {
	t.Helper()
	for n, kind := range deployments {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel() // they wait for servers most of the time
			d := guard(t, kind.start(t))
			d.whole = kind.name == "redis" || kind.name == "sharded" || *everyClient
			for m, adapter := range adapters {
				if n > 0 && n%len(adapters) != m && !*everyClient {
					continue
				}
				t.Run(adapter.name, func(t *testing.T) {
					t.Run("processes", func(t *testing.T) { linearOverProcesses(t, adapter.name, d) })
					test(t, d, func(t testing.TB, c redisstore.Config) *redisstore.Store { return adapter.open(t, d, c) })
				})
			}
		})
	}
}

// prefix returns a prefix that no other test has.
func prefix() string { return "t-" + strings.ToLower(rand.Text()[:10]) }

// TestRedis runs all cases of a store and all known exact answers, and checks the keys
// after every call.
func TestRedis(t *testing.T) {
	everywhere(t, func(t *testing.T, d deployment, open func(testing.TB, redisstore.Config) *redisstore.Store) {
		t.Run("storetest", func(t *testing.T) {
			storetest.Run(t, storetest.Options{Once: !d.whole, New: func(t *testing.T, now func() time.Time) engine.Store {
				own := prefix()
				return audit(t, open(t, redisstore.Config{Prefix: own, Clock: now}), own, d.holders())
			}})
		})
		t.Run("vectors", func(t *testing.T) { replayVectors(t, open) })
		t.Run("batches", func(t *testing.T) { batches(t, open) })
		if d.whole {
			t.Run("batch", func(t *testing.T) { batchOnRedis(t, d, open) })
		}
		t.Run("coordinator", func(t *testing.T) {
			storetest.RunCoordinator(t, storetest.CoordinatorOptions{New: func(t *testing.T, now func() time.Time) storetest.Coordinating {
				return open(t, redisstore.Config{Prefix: prefix(), Clock: now})
			}})
		})
		t.Run("linearizable", func(t *testing.T) { linearOnRedis(t, open) })
		t.Run("differential", func(t *testing.T) {
			clock := headgatetest.NewClock()
			own := prefix()
			steps := *redisSteps
			if !d.whole { // what is special here is the way to the server, and not the steps
				steps /= 2
			}
			var store engine.Store = open(t, redisstore.Config{Prefix: own, Clock: clock.Now})
			if *redisSteps <= auditedSteps {
				store = audit(t, store, own, d.holders())
			}
			for _, algorithm := range script.Algorithms {
				t.Run(algorithm, func(t *testing.T) {
					for name, options := range kinds {
						for i := range max(1, steps/caseSteps/len(kinds)) {
							differOn(t, store, clock, algorithm, name, options, *seed+uint64(i))
						}
					}
				})
			}
			t.Run("leases", func(t *testing.T) {
				for i := range max(1, steps/caseSteps/4) {
					differLeasesOn(t, store, clock, *seed+uint64(i))
				}
			})
		})
	})
}

func replayVectors(t *testing.T, open func(testing.TB, redisstore.Config) *redisstore.Store) {
	t.Helper()
	files, err := filepath.Glob("../testdata/vectors/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no vectors", err)
	}
	clock := headgatetest.NewClock()
	store := open(t, redisstore.Config{Prefix: prefix(), Clock: clock.Now})
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
