package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// Regression: bug 34. Each class of errors is provoked on a real server. The error must be classified and counted, and
// nothing may be charged. Afterwards, the store must work again.
func TestErrors(t *testing.T) {
	t.Parallel()
	for name, provoke := range map[string]func(t *testing.T, open testbed.Opener){
		"readonly": provokeReadOnly, "loading": provokeLoading, "busy": provokeBusy, "out of memory": provokeOOM,
		"master down": provokeMasterDown, "no script": provokeNoScript, "no auth": provokeNoAuth, "no permission": provokeNoPermission,
		"wrong type": provokeWrongType, "garbage": provokeGarbage, "away": provokeAway, "misconfigured": provokeMisconfigured, "without replicas": provokeWithoutReplicas, "no room": provokeNoRoom,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testbed.EachClient(t, func(t *testing.T, open func(testing.TB, testbed.Deployment, redisstore.Config) *redisstore.Store) {
				provoke(t, open)
			})
		})
	}
}

func provokeReadOnly(t *testing.T, open testbed.Opener) {
	_, replica := redistest.Replicated(t, redistest.Redis)
	store := open(t, testbed.At(replica.Addr(), ""), redisstore.Config{})
	testbed.WantClass(t, testbed.Take(store, "k", testbed.Hourly), redisstore.ReadOnly)
	replica.MustDo("replicaof", "no", "one")
	testbed.Recovers(t, store, 99)
}

func provokeLoading(t *testing.T, open testbed.Opener) {
	s := redistest.Standalone(t, redistest.Redis, "loading-process-events-interval-bytes 1024")
	store := open(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	for i := range 300 {
		s.MustDo("set", fmt.Sprint("filler", i), strings.Repeat("x", 100))
	}
	s.MustDo("config", "set", "key-load-delay", "20000") // µs per key, which makes six seconds
	s.MustDo("config", "rewrite")
	s.MustDo("save")
	s.Restart()
	var r engine.Answer
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if r = testbed.Take(store, "k", testbed.Hourly); errors.Is(r.Err, headgate.ErrStoreUnavailable) && strings.Contains(r.Err.Error(), "loading") {
			break
		}
	}
	testbed.WantClass(t, r, redisstore.Loading)
	s.MustDo("config", "set", "key-load-delay", "0")
	testbed.Recovers(t, store, 99)
}

func provokeBusy(t *testing.T, open testbed.Opener) {
	s := redistest.Standalone(t, redistest.Redis, "lua-time-limit 10")
	store := open(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	testbed.Take(store, "k", testbed.Hourly)
	spinning := make(chan struct{})
	go func() {
		defer close(spinning)
		_, _ = s.Do("eval", "while true do end", 0)
	}()
	var r engine.Answer
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if r = testbed.Take(store, "k2", testbed.Hourly); r.Err != nil {
			break
		}
	}
	testbed.WantClass(t, r, redisstore.Busy)
	s.MustDo("script", "kill")
	<-spinning
	testbed.Recovers(t, store, 98)
}

func provokeOOM(t *testing.T, open testbed.Opener) {
	s := redistest.Standalone(t, redistest.Redis)
	store := open(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	s.MustDo("config", "set", "maxmemory", "1")
	testbed.WantClass(t, testbed.Take(store, "k", testbed.Hourly), redisstore.OutOfMemory)
	unwritten(t, store)
	s.MustDo("config", "set", "maxmemory", "0")
	testbed.Recovers(t, store, 99)
}

// unwritten sends many operations on one key in a single call, to a server that rejects writes. Operations that must
// write must fail. Operations that were decided before them must return their answers.
func unwritten(t *testing.T, store *redisstore.Store) {
	t.Helper()
	for _, limit := range []engine.Limit{testbed.Hourly, rule.SlidingLog(rule.PerHour(5))} {
		ops := []engine.Op{engine.Single(engine.OpPeek, "k", limit, 5), engine.Single(engine.OpAllow, "k", limit, 200), engine.Single(engine.OpAllow, "k", limit, 3), engine.Single(engine.OpAllow, "k", limit, 3)}
		results := make([]engine.Answer, len(ops))
		store.Do(context.Background(), ops, results)
		for i, r := range results {
			if i >= 2 {
				testbed.WantClass(t, r, redisstore.OutOfMemory)
			} else if r.Err != nil || r.Allowed != (i == 0) {
				t.Errorf("%s, operation %d: %+v, %v", limit, i, r, r.Err)
			}
		}
	}
}

func provokeMisconfigured(t *testing.T, open testbed.Opener) {
	s := redistest.Standalone(t, redistest.Redis, "save 3600 1", "dir /proc")
	store := open(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	s.MustDo("bgsave")
	for end := time.Now().Add(20 * time.Second); !strings.Contains(s.Text("info", "persistence"), "rdb_last_bgsave_status:err"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a save to /proc did not fail")
		}
	}
	testbed.WantClass(t, testbed.Take(store, "k", testbed.Hourly), redisstore.NoDisk)
	s.MustDo("config", "set", "stop-writes-on-bgsave-error", "no")
	testbed.Recovers(t, store, 99)
}

func provokeWithoutReplicas(t *testing.T, open testbed.Opener) {
	s := redistest.Standalone(t, redistest.Redis, "min-replicas-to-write 1")
	store := open(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	testbed.WantClass(t, testbed.Take(store, "k", testbed.Hourly), redisstore.NoReplicas)
	s.MustDo("config", "set", "min-replicas-to-write", "0")
	testbed.Recovers(t, store, 99)
}

// Regression: bug 238.
func provokeNoRoom(t *testing.T, open testbed.Opener) {
	s := redistest.Standalone(t, redistest.Redis)
	store := open(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	testbed.Take(store, "k", testbed.Hourly)
	s.MustDo("config", "set", "maxclients", "1") // that of the test
	s.MustDo("client", "kill", "type", "normal", "skipme", "yes")
	for range 20 { // go-redis often finds a broken connection before it reads why
		if r := testbed.Take(store, "k2", testbed.Hourly); !engine.Away(r.Err) {
			t.Fatalf("no room for a connection, and no outage: %v", r.Err)
		}
	}
	s.MustDo("config", "set", "maxclients", "1000")
	testbed.Recovers(t, store, 98)
}

func provokeMasterDown(t *testing.T, open testbed.Opener) {
	primary, replica := redistest.Replicated(t, redistest.Redis, "replica-serve-stale-data no")
	store := open(t, testbed.At(replica.Addr(), ""), redisstore.Config{})
	primary.Kill()
	var r engine.Answer
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if r = testbed.Take(store, "k", testbed.Hourly); r.Err != nil && !strings.Contains(r.Err.Error(), "READONLY") {
			break
		}
	}
	testbed.WantClass(t, r, redisstore.MasterDown)
	replica.MustDo("replicaof", "no", "one")
	testbed.Recovers(t, store, 99)
}

// Regression: bug 31. Scripts are sent again to a server that has lost them.
func provokeNoScript(t *testing.T, open testbed.Opener) {
	s := redistest.Standalone(t, redistest.Redis)
	store := open(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	testbed.Recovers(t, store, 99)
	before := store.Stats().Errors["no_script"]
	for i := range int64(5) {
		s.MustDo("script", "flush")
		if r := testbed.Take(store, "k", testbed.Hourly); r.Err != nil || r.Binds().Remaining != 98-i {
			t.Errorf("after a flush: %d left, %v", r.Binds().Remaining, r.Err)
		}
	}
	if n := store.Stats().Errors["no_script"] - before; n != 5 {
		t.Errorf("%d unknown scripts counted, want 5", n)
	}
}

func provokeNoAuth(t *testing.T, open testbed.Opener) {
	s := redistest.Standalone(t, redistest.Redis)
	store := open(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	s.MustDo("config", "set", "requirepass", "secret")
	s.MustDo("client", "kill", "type", "normal", "skipme", "yes")
	var r engine.Answer
	for range 100 { // the first calls still use closed connections
		if r = testbed.Take(store, "k", testbed.Hourly); r.Err != nil && !errors.Is(r.Err, headgate.ErrOutcomeUnknown) {
			break
		}
	}
	testbed.WantClass(t, r, redisstore.NoAuth)
	s.MustDo("config", "set", "requirepass", "")
	testbed.Recovers(t, store, 99)
}

func provokeNoPermission(t *testing.T, open testbed.Opener) {
	s := redistest.Standalone(t, redistest.Redis)
	s.MustDo("acl", "setuser", "app", "on", ">pw", "~*", "&*", "+@all")
	store := open(t, testbed.At(s.Addr(), "app:pw@"), redisstore.Config{})
	testbed.Recovers(t, store, 99)
	s.MustDo("acl", "setuser", "app", "-evalsha", "-eval")
	testbed.WantClass(t, testbed.Take(store, "k", testbed.Hourly), redisstore.NoPermission)
	s.MustDo("acl", "setuser", "app", "+evalsha", "+eval", "-set", "-psetex")
	testbed.WantClass(t, testbed.Take(store, "k", testbed.Hourly), redisstore.NoPermission)
	s.MustDo("acl", "setuser", "app", "+set", "+psetex", "resetkeys", "~other*")
	testbed.WantClass(t, testbed.Take(store, "k", testbed.Hourly), redisstore.NoPermission)
	// The rights listed by Permissions are sufficient.
	rules := append([]any{"acl", "setuser", "app", "reset", "on", ">pw"}, testbed.Words(store.Permissions())...)
	s.MustDo(rules...)
	own := open(t, testbed.At(s.Addr(), "app:pw@"), redisstore.Config{})
	if warnings, err := own.Check(context.Background()); err != nil || len(warnings) > 0 {
		t.Errorf("with %s: %q, %v", own.Permissions(), warnings, err)
	}
	testbed.Recovers(t, own, 98)
}

func provokeWrongType(t *testing.T, open testbed.Opener) {
	s := redistest.Standalone(t, redistest.Redis)
	testbed.Strange(t, s, open(t, testbed.At(s.Addr(), ""), redisstore.Config{}))
}

func provokeGarbage(t *testing.T, open testbed.Opener) {
	s := redistest.Standalone(t, redistest.Redis)
	testbed.Garbage(t, s, open(t, testbed.At(s.Addr(), ""), redisstore.Config{}))
}

func provokeAway(t *testing.T, open testbed.Opener) {
	s := redistest.Standalone(t, redistest.Redis)
	store := open(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	testbed.Take(store, "k", testbed.Hourly)
	s.Kill()
	var r engine.Answer
	for range 100 { // the first calls still use closed connections
		if r = testbed.Take(store, "k", testbed.Hourly); r.Err != nil && !errors.Is(r.Err, headgate.ErrOutcomeUnknown) {
			break
		}
	}
	testbed.WantClass(t, r, redisstore.Unsent)
	s.Start()
	testbed.Recovers(t, store, 99) // the server has lost its data
}
