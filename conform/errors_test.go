package conform

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/conform/redistest"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/storetest"
)

// hourly is a limit that refills nothing during a test.
var hourly = headgate.TokenBucket(headgate.PerHour(100))

// at is one server, with a user and password if it needs them ("user:pw@").
func at(address, user string) deployment {
	url := "redis://" + user + address
	return deployment{url: url, goredis: func() redis.UniversalClient {
		o, err := redis.ParseURL(url)
		if err != nil {
			panic(err)
		}
		o.ContextTimeoutEnabled, o.DisableIdentity = true, true
		return redis.NewClient(o)
	}}
}

// takeOne charges a key one unit.
func takeOne(store engine.Store, key string, limit headgate.Limit) engine.Result {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	results := make([]engine.Result, 1)
	store.Do(ctx, []engine.Op{{Space: "s", Key: key, Charges: []engine.Charge{{Limit: limit, Cost: 1}}}}, results)
	return results[0]
}

// wantClass checks that the error of an operation has a class.
func wantClass(t *testing.T, r engine.Result, want redisstore.Class) {
	t.Helper()
	e, ok := errors.AsType[*redisstore.Error](r.Err)
	if !ok || e.Class != want || !errors.Is(r.Err, headgate.ErrStoreUnavailable) {
		t.Errorf("answered %+v, %v; want an error of class %s", r.Outcome, r.Err, want)
	}
}

// each runs a test with either client.
func each(t *testing.T, test func(t *testing.T, open func(testing.TB, deployment, redisstore.Config) *redisstore.Store)) {
	t.Helper()
	for _, adapter := range adapters {
		t.Run(adapter.name, func(t *testing.T) { test(t, adapter.open) })
	}
}

// Known bug 34: each class of error is caused on a real server, is named, is counted and
// charges nothing; and the store works again afterwards.
func TestErrors(t *testing.T) {
	for name, provoke := range map[string]func(t *testing.T, open opener){
		"readonly": provokeReadOnly, "loading": provokeLoading, "busy": provokeBusy, "out of memory": provokeOOM,
		"master down": provokeMasterDown, "no script": provokeNoScript, "no auth": provokeNoAuth, "no permission": provokeNoPermission,
		"wrong type": provokeWrongType, "garbage": provokeGarbage, "away": provokeAway, "misconfigured": provokeMisconfigured, "without replicas": provokeWithoutReplicas,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, open func(testing.TB, deployment, redisstore.Config) *redisstore.Store) {
				provoke(t, open)
			})
		})
	}
}

type opener = func(testing.TB, deployment, redisstore.Config) *redisstore.Store

func provokeReadOnly(t *testing.T, open opener) {
	_, replica := redistest.Replicated(t, redistest.Redis)
	store := open(t, at(replica.Addr(), ""), redisstore.Config{})
	wantClass(t, takeOne(store, "k", hourly), redisstore.ReadOnly)
	replica.MustDo("replicaof", "no", "one")
	recovers(t, store, 99)
}

// recovers waits until a key is decided again, and checks that the failed calls before
// charged nothing.
func recovers(t *testing.T, store *redisstore.Store, remaining int64) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if r := takeOne(store, "k", hourly); r.Err == nil {
			if r.Outcome.Remaining != remaining {
				t.Errorf("%d left, want %d: a call that failed was charged", r.Outcome.Remaining, remaining)
			}
			return
		}
	}
	t.Error("the store did not work again")
}

func provokeLoading(t *testing.T, open opener) {
	s := redistest.Standalone(t, redistest.Redis, "loading-process-events-interval-bytes 1024")
	store := open(t, at(s.Addr(), ""), redisstore.Config{})
	for i := range 300 {
		s.MustDo("set", fmt.Sprint("filler", i), strings.Repeat("x", 100))
	}
	s.MustDo("config", "set", "key-load-delay", "20000") // µs a key: six seconds
	s.MustDo("config", "rewrite")
	s.MustDo("save")
	s.Restart()
	var r engine.Result
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if r = takeOne(store, "k", hourly); errors.Is(r.Err, headgate.ErrStoreUnavailable) && strings.Contains(r.Err.Error(), "loading") {
			break
		}
	}
	wantClass(t, r, redisstore.Loading)
	s.MustDo("config", "set", "key-load-delay", "0")
	recovers(t, store, 99)
}

func provokeBusy(t *testing.T, open opener) {
	s := redistest.Standalone(t, redistest.Redis, "lua-time-limit 10")
	store := open(t, at(s.Addr(), ""), redisstore.Config{})
	takeOne(store, "k", hourly)
	spinning := make(chan struct{})
	go func() {
		defer close(spinning)
		_, _ = s.Do("eval", "while true do end", 0)
	}()
	var r engine.Result
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if r = takeOne(store, "k2", hourly); r.Err != nil {
			break
		}
	}
	wantClass(t, r, redisstore.Busy)
	s.MustDo("script", "kill")
	<-spinning
	recovers(t, store, 98)
}

func provokeOOM(t *testing.T, open opener) {
	s := redistest.Standalone(t, redistest.Redis)
	store := open(t, at(s.Addr(), ""), redisstore.Config{})
	s.MustDo("config", "set", "maxmemory", "1")
	wantClass(t, takeOne(store, "k", hourly), redisstore.OutOfMemory)
	unwritten(t, store)
	s.MustDo("config", "set", "maxmemory", "0")
	recovers(t, store, 99)
}

// unwritten sends many operations on one key in one call to a server that writes nothing.
// Operations that would write fail; those decided before that have their answers.
func unwritten(t *testing.T, store *redisstore.Store) {
	t.Helper()
	for _, limit := range []headgate.Limit{hourly, headgate.SlidingLog(headgate.PerHour(5))} {
		ops := []engine.Op{engine.Single(engine.OpPeek, "k", limit, 5), engine.Single(engine.OpAllow, "k", limit, 200), engine.Single(engine.OpAllow, "k", limit, 3), engine.Single(engine.OpAllow, "k", limit, 3)}
		results := make([]engine.Result, len(ops))
		store.Do(context.Background(), ops, results)
		for i, r := range results {
			if i >= 2 {
				wantClass(t, r, redisstore.OutOfMemory)
			} else if r.Err != nil || r.Outcome.Allowed != (i == 0) {
				t.Errorf("%s, operation %d: %+v, %v", limit, i, r.Outcome, r.Err)
			}
		}
	}
}

func provokeMisconfigured(t *testing.T, open opener) {
	s := redistest.Standalone(t, redistest.Redis, "save 3600 1", "dir /proc")
	store := open(t, at(s.Addr(), ""), redisstore.Config{})
	s.MustDo("bgsave")
	for end := time.Now().Add(20 * time.Second); !strings.Contains(s.Text("info", "persistence"), "rdb_last_bgsave_status:err"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a save to /proc did not fail")
		}
	}
	wantClass(t, takeOne(store, "k", hourly), redisstore.Misconfigured)
	s.MustDo("config", "set", "stop-writes-on-bgsave-error", "no")
	recovers(t, store, 99)
}

func provokeWithoutReplicas(t *testing.T, open opener) {
	s := redistest.Standalone(t, redistest.Redis, "min-replicas-to-write 1")
	store := open(t, at(s.Addr(), ""), redisstore.Config{})
	wantClass(t, takeOne(store, "k", hourly), redisstore.ReadOnly)
	s.MustDo("config", "set", "min-replicas-to-write", "0")
	recovers(t, store, 99)
}

func provokeMasterDown(t *testing.T, open opener) {
	primary, replica := redistest.Replicated(t, redistest.Redis, "replica-serve-stale-data no")
	store := open(t, at(replica.Addr(), ""), redisstore.Config{})
	primary.Kill()
	var r engine.Result
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if r = takeOne(store, "k", hourly); r.Err != nil && !strings.Contains(r.Err.Error(), "READONLY") {
			break
		}
	}
	wantClass(t, r, redisstore.MasterDown)
	replica.MustDo("replicaof", "no", "one")
	recovers(t, store, 99)
}

// Known bug 31: a server that has lost its scripts gets them again.
func provokeNoScript(t *testing.T, open opener) {
	s := redistest.Standalone(t, redistest.Redis)
	store := open(t, at(s.Addr(), ""), redisstore.Config{})
	recovers(t, store, 99)
	before := store.Stats().Errors["no_script"]
	for i := range int64(5) {
		s.MustDo("script", "flush")
		if r := takeOne(store, "k", hourly); r.Err != nil || r.Outcome.Remaining != 98-i {
			t.Errorf("after a flush: %d left, %v", r.Outcome.Remaining, r.Err)
		}
	}
	if n := store.Stats().Errors["no_script"] - before; n != 5 {
		t.Errorf("%d unknown scripts counted, want 5", n)
	}
}

func provokeNoAuth(t *testing.T, open opener) {
	s := redistest.Standalone(t, redistest.Redis)
	store := open(t, at(s.Addr(), ""), redisstore.Config{})
	s.MustDo("config", "set", "requirepass", "secret")
	s.MustDo("client", "kill", "type", "normal", "skipme", "yes")
	var r engine.Result
	for range 100 { // the first calls see their connections end
		if r = takeOne(store, "k", hourly); r.Err != nil && !errors.Is(r.Err, headgate.ErrOutcomeUnknown) {
			break
		}
	}
	wantClass(t, r, redisstore.NoAuth)
	s.MustDo("config", "set", "requirepass", "")
	recovers(t, store, 99)
}

func provokeNoPermission(t *testing.T, open opener) {
	s := redistest.Standalone(t, redistest.Redis)
	s.MustDo("acl", "setuser", "app", "on", ">pw", "~*", "&*", "+@all")
	store := open(t, at(s.Addr(), "app:pw@"), redisstore.Config{})
	recovers(t, store, 99)
	s.MustDo("acl", "setuser", "app", "-evalsha", "-eval")
	wantClass(t, takeOne(store, "k", hourly), redisstore.NoPermission)
	s.MustDo("acl", "setuser", "app", "+evalsha", "+eval", "-set")
	wantClass(t, takeOne(store, "k", hourly), redisstore.NoPermission)
	s.MustDo("acl", "setuser", "app", "+set", "resetkeys", "~other*")
	wantClass(t, takeOne(store, "k", hourly), redisstore.NoPermission)
	// The rights that Permissions names are enough.
	rules := append([]any{"acl", "setuser", "app", "reset", "on", ">pw"}, words(store.Permissions())...)
	s.MustDo(rules...)
	own := open(t, at(s.Addr(), "app:pw@"), redisstore.Config{})
	if warnings, err := own.Check(context.Background()); err != nil || len(warnings) > 0 {
		t.Errorf("with %s: %q, %v", own.Permissions(), warnings, err)
	}
	recovers(t, own, 98)
}

func words(text string) (list []any) {
	for word := range strings.FieldsSeq(text) {
		list = append(list, word)
	}
	return list
}

func provokeWrongType(t *testing.T, open opener) {
	s := redistest.Standalone(t, redistest.Redis)
	strange(t, s, open(t, at(s.Addr(), ""), redisstore.Config{}))
}

// strange puts lists and garbage at the keys of states, under any prefix.
func strange(t *testing.T, s *redistest.Server, store *redisstore.Store) {
	t.Helper()
	for name, limit := range limitsOfAll() {
		op := engine.Op{Space: "s", Key: "k", Charges: []engine.Charge{{Limit: limit}}}
		for _, key := range store.Keys(&op) {
			s.MustDo("lpush", key, "x")
		}
		wantClass(t, doOne(store, "k", limit), redisstore.WrongType)
		wantClass(t, expiryOf(store, op), redisstore.WrongType)
		heals(t, store, name, limit)
	}
	leases := limitsOfAll()["concurrency"]
	op := engine.Op{Space: "s", Key: "k", Charges: []engine.Charge{{Limit: leases}}}
	keys := store.Keys(&op)
	s.MustDo("hset", keys[1], "", "garbage")
	wantClass(t, doOne(store, "k", leases), redisstore.Garbage)
	s.MustDo("del", keys[1])
	s.MustDo("lpush", keys[0], "x")
	s.MustDo("hset", keys[1], "", "\x01\x00\x00\x00\x00\x00\x00\x00\x01")
	wantClass(t, doOne(store, "k", leases), redisstore.WrongType)
	s.MustDo("del", keys[0], keys[1])
	s.MustDo("hset", keys[1], "", "\x03anything")
	wantClass(t, doOne(store, "k", leases), redisstore.Newer)
	s.MustDo("del", keys[1])
	garbage(t, s, store)
}

func expiryOf(store engine.Store, op engine.Op) engine.Result {
	op.Kind = engine.OpExpiry
	results := make([]engine.Result, 1)
	store.Do(context.Background(), []engine.Op{op}, results)
	return results[0]
}

func provokeGarbage(t *testing.T, open opener) {
	s := redistest.Standalone(t, redistest.Redis)
	garbage(t, s, open(t, at(s.Addr(), ""), redisstore.Config{}))
}

func garbage(t *testing.T, s *redistest.Server, store *redisstore.Store) {
	t.Helper()
	for name, limit := range limitsOfAll() {
		if name == "concurrency" {
			continue
		}
		op := engine.Op{Space: "s", Key: "k", Charges: []engine.Charge{{Limit: limit}}}
		key := store.Keys(&op)[0]
		for value, class := range map[string]redisstore.Class{
			"garbage": redisstore.Garbage, "\x01": redisstore.Garbage, "\x01" + strings.Repeat("\xff", 23): redisstore.Garbage,
			"1": redisstore.Garbage, "\x03anything": redisstore.Newer,
		} {
			s.MustDo("set", key, value)
			wantClass(t, doOne(store, "k", limit), class)
			if s.Text("get", key) != value {
				t.Errorf("%s: %q was overwritten", name, value)
			}
			heals(t, store, name, limit)
		}
	}
}

// heals checks that a reset deletes whatever is at the key.
func heals(t *testing.T, store engine.Store, name string, limit headgate.Limit) {
	t.Helper()
	results := make([]engine.Result, 1)
	store.Do(context.Background(), []engine.Op{{Kind: engine.OpReset, Space: "s", Key: "k", Charges: []engine.Charge{{Limit: limit}}}}, results)
	if results[0].Err != nil || !results[0].Found {
		t.Errorf("%s: reset: found %t, %v", name, results[0].Found, results[0].Err)
	}
	if r := doOne(store, "k", limit); r.Err != nil || !r.Outcome.Allowed {
		t.Errorf("%s after a reset: %+v, %v", name, r.Outcome, r.Err)
	}
	store.Do(context.Background(), []engine.Op{{Kind: engine.OpReset, Space: "s", Key: "k", Charges: []engine.Charge{{Limit: limit}}}}, results)
}

// doOne charges or acquires one unit, as the limit's algorithm requires.
func doOne(store engine.Store, key string, limit headgate.Limit) engine.Result {
	op := engine.Op{Space: "s", Key: key, Charges: []engine.Charge{{Limit: limit, Cost: 1}}}
	if limit.Algorithm().String() == "concurrency" {
		op.Kind, op.ID = engine.OpAcquire, "holder"
	}
	results := make([]engine.Result, 1)
	store.Do(context.Background(), []engine.Op{op}, results)
	return results[0]
}

// limitsOfAll returns a limit of each algorithm, by name.
func limitsOfAll() map[string]headgate.Limit {
	all := map[string]headgate.Limit{}
	for a, limit := range storetest.Examples() {
		all[a.String()] = limit
	}
	return all
}

func provokeAway(t *testing.T, open opener) {
	s := redistest.Standalone(t, redistest.Redis)
	store := open(t, at(s.Addr(), ""), redisstore.Config{})
	takeOne(store, "k", hourly)
	s.Kill()
	var r engine.Result
	for range 100 { // the first calls see their connections end
		if r = takeOne(store, "k", hourly); r.Err != nil && !errors.Is(r.Err, headgate.ErrOutcomeUnknown) {
			break
		}
	}
	wantClass(t, r, redisstore.Unsent)
	s.Start()
	recovers(t, store, 99) // the server's data is lost
}
