package testbed

import (
	"cmp"
	"context"
	"crypto/rand"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	goredisadapter "github.com/headgate/headgate/adapter/goredis"
	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/redisstore"
)

// Deployment is a Redis deployment from a program's point of view: its address for either client, and the servers that
// hold keys.
type Deployment struct {
	URL     string
	Goredis func() redis.UniversalClient
	shards  int
	Holders func() []*redistest.Server
	all     []*redistest.Server
	User    *User // the user that stores connect as; nil means the default user
}

// deployments are the deployments on which all tests must pass.
var deployments = []struct {
	name  string
	start func(t *testing.T) Deployment
}{
	{"redis", func(t *testing.T) Deployment { return Standalone(t, Flavor(redistest.Redis)) }},
	{"cluster", Cluster},
	{"sharded", func(t *testing.T) Deployment {
		d := OfCluster(redistest.Cluster(t, Flavor(redistest.Valkey)))
		d.shards = 8
		return d
	}},
	{"sentinel", sentinel},
	{"valkey", func(t *testing.T) Deployment { return Standalone(t, Flavor(redistest.Valkey)) }},
}

// chosen names the deployments that [Everywhere] uses. By default, these are the deployments of `make test`: a single
// Redis, and a Cluster of Valkey servers with shards.
var chosen = flag.String("deployments", "", "the deployments of Redis to try, between commas; all tries every one (default redis,sharded)")

// flavor makes all deployments run the same kind of server.
var flavor = flag.String("flavor", "", "redis or valkey: all deployments run this server")

// Flavor returns the server selected by -flavor, or else the default.
func Flavor(usual redistest.Flavor) redistest.Flavor { return cmp.Or(redistest.Flavor(*flavor), usual) }

// checked makes stores check their server first, as programs do. After the check, a store can write many keys with one
// command, if the server supports it.
var checked = flag.Bool("checked", false, "check the server of each store that a test opens")

// EveryClient makes tests run with every client on each deployment. By default, the clients alternate.
var EveryClient = flag.Bool("every-client", false, "try every deployment of Redis with every client")

// Open opens a store on a test's deployment with the test's client.
type Open = func(t testing.TB, c redisstore.Config) *redisstore.Store

// Everywhere runs a test on the chosen deployments. Stores connect as a user with exactly the documented rights.
func Everywhere(t *testing.T, test func(t *testing.T, d Deployment, client string, open Open)) {
	t.Helper()
	on(t, cmp.Or(*chosen, "redis,sharded"), test)
}

// EverywhereChosen is Everywhere, but only on a single Redis if no deployments are chosen: most of what the test finds,
// it finds on any of them. `make test-full` chooses each in turn.
func EverywhereChosen(t *testing.T, test func(t *testing.T, d Deployment, client string, open Open)) {
	t.Helper()
	on(t, cmp.Or(*chosen, "redis"), test)
}

func on(t *testing.T, chosen string, test func(t *testing.T, d Deployment, client string, open Open)) {
	t.Helper()
	names := strings.Split(chosen, ",")
	turn := 0
	for _, kind := range deployments {
		if chosen != "all" && !slices.Contains(names, kind.name) {
			continue
		}
		turn++
		own := turn % len(Adapters)
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel() // these spend most of the time waiting for servers
			d := Guard(t, kind.start(t))
			for m, adapter := range Adapters {
				if m != own && !*EveryClient {
					continue
				}
				t.Run(adapter.Name, func(t *testing.T) {
					test(t, d, adapter.Name, func(t testing.TB, c redisstore.Config) *redisstore.Store { return adapter.Open(t, d, c) })
				})
			}
		})
	}
}

// Standalone returns a deployment with a single server.
func Standalone(t *testing.T, flavor redistest.Flavor, config ...string) Deployment {
	t.Helper()
	return OfServer(redistest.Standalone(t, flavor, config...))
}

func OfServer(s *redistest.Server) Deployment {
	return Deployment{
		URL: "redis://" + s.Addr(),
		Goredis: func() redis.UniversalClient {
			return redis.NewClient(&redis.Options{Addr: s.Addr(), ContextTimeoutEnabled: true, DisableIdentity: true})
		},
		Holders: func() []*redistest.Server { return []*redistest.Server{s} },
		all:     []*redistest.Server{s},
	}
}

func Cluster(t *testing.T) Deployment {
	t.Helper()
	return OfCluster(redistest.Cluster(t, Flavor(redistest.Redis)))
}

func OfCluster(c *redistest.Nodes) Deployment {
	return Deployment{
		URL: "redis+cluster://" + strings.Join(c.Addrs(), ","),
		Goredis: func() redis.UniversalClient {
			return redis.NewClusterClient(&redis.ClusterOptions{
				Addrs: c.Addrs(), ContextTimeoutEnabled: true, DisableIdentity: true,
				ClusterStateReloadInterval: time.Second, DialerRetries: 1, DialTimeout: 2 * time.Second,
			})
		},
		Holders: c.Primaries,
		all:     c.Servers,
	}
}

func sentinel(t *testing.T) Deployment {
	t.Helper()
	return OfSentinel(redistest.Sentinel(t, Flavor(redistest.Redis)))
}

func OfSentinel(s *redistest.Sentinels) Deployment {
	return Deployment{
		URL: "redis+sentinel://" + strings.Join(s.Addrs(), ",") + "/" + s.MasterName,
		Goredis: func() redis.UniversalClient {
			return redis.NewFailoverClient(&redis.FailoverOptions{
				MasterName: s.MasterName, SentinelAddrs: s.Addrs(), ContextTimeoutEnabled: true, DisableIdentity: true,
				DialerRetries: 1, DialTimeout: 2 * time.Second,
			})
		},
		Holders: func() []*redistest.Server { return []*redistest.Server{s.Primary()} },
		all:     s.Servers(),
	}
}

// Adapters lists the clients, each with a function that opens a store on a deployment.
var Adapters = []struct {
	Name string
	Open func(t testing.TB, d Deployment, c redisstore.Config) *redisstore.Store
}{
	{"rueidis", OpenRueidis},
	{"goredis", OpenGoredis},
}

func OpenRueidis(t testing.TB, d Deployment, c redisstore.Config) *redisstore.Store {
	t.Helper()
	c.Shards = d.shards
	d.User.Permit(t, c.Prefix)
	store, err := rueidisadapter.Open(context.Background(), d.User.In(d.URL), c)
	if err != nil {
		t.Fatal(err)
	}
	return opened(t, store)
}

// opened closes the store at the end of the test, and returns it.
func opened(t testing.TB, store *redisstore.Store) *redisstore.Store {
	t.Helper()
	t.Cleanup(func() { _ = store.Close() })
	if *checked {
		if _, err := store.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

// ConnOf returns a connection that uses a go-redis client. The client is closed after the test.
func ConnOf(t testing.TB, client redis.UniversalClient) redisstore.Conn {
	t.Helper()
	t.Cleanup(func() { _ = client.Close() })
	conn, err := goredisadapter.New(client)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func OpenGoredis(t testing.TB, d Deployment, c redisstore.Config) *redisstore.Store {
	t.Helper()
	c.Shards = d.shards
	d.User.Permit(t, c.Prefix)
	client := d.Goredis()
	d.User.Of(client)
	store, err := redisstore.New(ConnOf(t, client), c)
	if err != nil {
		t.Fatal(err)
	}
	return opened(t, store)
}

// Prefix returns a prefix that no other test uses.
func Prefix() string { return "t-" + strings.ToLower(rand.Text()[:10]) }

// At returns a deployment with a single server. user contains the user and password ("user:pw@") if the server needs
// them.
func At(address, user string) Deployment {
	url := "redis://" + user + address
	return Deployment{URL: url, Goredis: func() redis.UniversalClient {
		o, err := redis.ParseURL(url)
		if err != nil {
			panic(err)
		}
		o.ContextTimeoutEnabled, o.DisableIdentity = true, true
		return redis.NewClient(o)
	}}
}

// EachClient runs a test with each client.
func EachClient(t *testing.T, test func(t *testing.T, open func(testing.TB, Deployment, redisstore.Config) *redisstore.Store)) {
	t.Helper()
	for _, adapter := range Adapters {
		t.Run(adapter.Name, func(t *testing.T) { test(t, adapter.Open) })
	}
}

type Opener = func(testing.TB, Deployment, redisstore.Config) *redisstore.Store
