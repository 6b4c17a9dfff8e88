package lua

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
	"github.com/headgate/headgate/conform/redistest"
	"github.com/headgate/headgate/conform/testbed"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/redisstore"
)

// hashSizes returns the number of fields in each hash that stores states.
func hashSizes(s *redistest.Server) (sizes []int64) {
	keys, _ := s.MustDo("keys", "*/#*").([]any)
	for _, key := range keys {
		n, _ := s.MustDo("hlen", key).(int64)
		sizes = append(sizes, n)
	}
	return sizes
}

// takeEach charges each key in a range one unit, in calls of 500.
func takeEach(t *testing.T, store engine.Store, limit engine.Limit, from, to int) {
	t.Helper()
	for ; from < to; from += 500 {
		var ops []engine.Op
		for i := from; i < min(to, from+500); i++ {
			ops = append(ops, engine.Single(engine.OpAllow, fmt.Sprintf("user:%015d", i), limit, 1))
		}
		results := make([]engine.Result, len(ops))
		store.Do(context.Background(), ops, results)
		for i := range results {
			if results[i].Err != nil || !results[i].Outcome.Allowed {
				t.Fatalf("%+v", results[i])
			}
		}
	}
}

// TestExpiredFieldsAreSwept checks that expired fields are swept, so that a hash does not grow with the number of
// keys ever used, and that states that still count are kept.
func TestExpiredFieldsAreSwept(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Hashes: 4})
	const stays, round = 1000, 10_000
	long := rule.TokenBucket(rule.PerDay(1))
	brief := [2]engine.Limit{ // their states have two different lengths
		rule.TokenBucket(rule.Per(10, 100*time.Millisecond)), rule.TokenBucket(rule.Per(1<<32+1, 100*time.Millisecond)),
	}
	takeEach(t, store, long, 0, stays)
	most := int64(0)
	for n := range 6 {
		takeEach(t, store, brief[n/3], (n+1)*round, (n+2)*round)
		time.Sleep(2200 * time.Millisecond) // all fields expire in this time
		sum := int64(0)
		for _, size := range hashSizes(s) {
			sum += size
		}
		most = max(most, sum)
	}
	if most < round || most > stays+2*round+round/2 {
		t.Errorf("up to %d fields after rounds of %d keys whose states expired", most, round)
	}
	results := make([]engine.Result, 1)
	for i := range stays {
		store.Do(context.Background(), []engine.Op{engine.Single(engine.OpPeek, fmt.Sprintf("user:%015d", i), long, 1)}, results)
		if results[0].Outcome.Allowed {
			t.Fatalf("the state of key %d was forgotten", i)
		}
	}
}

// TestHashLivesAsLongAsItsStates checks that a hash outlives all of its states, by at most about as long again, and that
// its TTL is rarely updated. One long-lived state keeps the whole hash.
func TestHashLivesAsLongAsItsStates(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Hashes: 1})
	limit := rule.FixedWindow(rule.Per(1000, time.Hour))
	takeEach(t, store, limit, 0, 10)
	keys, _ := s.MustDo("keys", "*/#*").([]any)
	if len(keys) != 1 {
		t.Fatalf("%v", keys)
	}
	first, _ := s.MustDo("pttl", keys[0]).(int64)
	if hour := time.Hour.Milliseconds(); first < hour-5000 || first > 2*hour+20_000 {
		t.Errorf("the hash of states that last an hour lives for %d ms", first)
	}
	s.MustDo("config", "resetstat")
	for range 20 {
		takeEach(t, store, limit, 0, 10)
	}
	if stats := s.Text("info", "commandstats"); strings.Contains(stats, "cmdstat_pexpire") {
		t.Errorf("the TTL was set again: %s", stats)
	}
	s.MustDo("pexpire", keys[0], 1000)
	takeEach(t, store, limit, 3, 4)
	if again, _ := s.MustDo("pttl", keys[0]).(int64); again < first/2-10_000 {
		t.Errorf("the hash lives for %d ms after a write", again)
	}
}

// TestFullMemoryFailsAllFields checks that when the server is out of memory, no key of a call is charged, each answer
// reports the error, and existing states still count.
func TestFullMemoryFailsAllFields(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Hashes: 2})
	limit := rule.TokenBucket(rule.PerDay(10))
	takeEach(t, store, limit, 0, 50)
	s.MustDo("config", "set", "maxmemory", "1")
	var ops []engine.Op
	for i := range 100 {
		ops = append(ops, engine.Single(engine.OpAllow, fmt.Sprintf("user:%015d", i), limit, 1))
	}
	results := make([]engine.Result, len(ops))
	store.Do(context.Background(), ops, results)
	for i := range results {
		if results[i].Err == nil || !strings.Contains(results[i].Err.Error(), "OOM") {
			t.Fatalf("key %d: %+v", i, results[i])
		}
		results[i] = engine.Result{}
		ops[i].Kind = engine.OpPeek
	}
	if r := testbed.Take(store, ops[0].Key, limit); r.Err == nil || !strings.Contains(r.Err.Error(), "OOM") {
		t.Errorf("a key asked for alone: %+v", r)
	}
	s.MustDo("config", "set", "maxmemory", "0")
	store.Do(context.Background(), ops, results)
	for i := range results {
		want := int64(10)
		if i < 50 {
			want = 9
		}
		if results[i].Outcome.Remaining != want {
			t.Errorf("key %d has %d left, want %d", i, results[i].Outcome.Remaining, want)
		}
	}
}

// TestExpiredFieldCountsAsAbsent checks that an expired field that has not been swept yet counts as absent: it is not
// found, it has no TTL, and a reset deletes nothing.
func TestExpiredFieldCountsAsAbsent(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	for _, limit := range []engine.Limit{rule.TokenBucket(rule.PerHour(1)), rule.FixedWindow(rule.PerHour(1))} {
		clock := headgatetest.NewClock()
		store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Prefix: testbed.Prefix(), Hashes: 1, Clock: clock.Now})
		if r := testbed.Take(store, "k", limit); r.Err != nil || !r.Outcome.Allowed {
			t.Fatalf("%s: %+v", limit, r)
		}
		found := func(kind engine.Kind) bool {
			results := make([]engine.Result, 1)
			store.Do(t.Context(), []engine.Op{{Kind: kind, Space: "s", Key: "k", Charges: []engine.Charge{{Limit: limit}}}}, results)
			if results[0].Err != nil {
				t.Fatal(results[0].Err)
			}
			return results[0].Found
		}
		if !found(engine.OpExpiry) {
			t.Errorf("%s: no state at once", limit)
		}
		clock.Advance(time.Hour)
		if found(engine.OpExpiry) || found(engine.OpReset) {
			t.Errorf("%s: a state after an hour", limit)
		}
	}
}

// TestCheckOfHashes checks that a server that evicts keys is rejected unless the operator accepts it, and that a hash
// that is too large is reported.
func TestCheckOfHashes(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	open := func(allow bool) *redisstore.Store {
		return testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Hashes: 1, AllowEviction: allow})
	}
	s.MustDo("config", "set", "maxmemory-policy", "allkeys-lru")
	if _, err := open(false).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "allow_eviction=true") {
		t.Errorf("a server that evicts: %v", err)
	}
	store := open(true)
	warnings, err := store.Check(t.Context())
	if err != nil || len(warnings) != 1 || !strings.HasPrefix(warnings[0], "maxmemory-policy") {
		t.Errorf("accepted: %q, %v", warnings, err)
	}
	s.MustDo("config", "set", "maxmemory-policy", "noeviction")
	limit := rule.TokenBucket(rule.PerDay(10))
	takeEach(t, store, limit, 0, redisstore.MaxFields)
	if warnings, err := store.Check(t.Context()); err != nil || len(warnings) > 0 {
		t.Errorf("a hash that is not too large: %q, %v", warnings, err)
	}
	takeEach(t, store, limit, redisstore.MaxFields, redisstore.MaxFields+1)
	if warnings, err := store.Check(t.Context()); err != nil || !slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, "choose more hashes than hash:1") }) {
		t.Errorf("a hash that is too large: %q, %v", warnings, err)
	}
}

// TestRightsOfHashes checks that the rights listed by Permissions are enough for the layout with hashes. If a right
// that only this layout needs is missing, the error must name the right.
func TestRightsOfHashes(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	open := func(url string) *redisstore.Store {
		store, err := rueidisadapter.Open(t.Context(), strings.Replace(url, "redis://", "redis://app:pw@", 1), redisstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		return store
	}
	grant := func(rules string) {
		s.MustDo(append([]any{"acl", "setuser", "app", "reset", "on", ">pw"}, testbed.Words(rules)...)...)
	}
	grant("~* &* +@all")
	keys, inHashes := open("redis://"+s.Addr()+"?prefix=keys"), open("redis://"+s.Addr()+"?prefix=hashes&layout=hash:2")
	for _, store := range []*redisstore.Store{keys, inHashes} {
		grant(store.Permissions())
		if warnings, err := store.Check(t.Context()); err != nil || len(warnings) > 0 {
			t.Errorf("with %s: %q %v", store.Permissions(), warnings, err)
		}
		if r := testbed.Take(store, "k", testbed.Hourly); r.Err != nil {
			t.Error(r.Err)
		}
	}
	grant(strings.ReplaceAll(inHashes.Permissions(), " +hscan", ""))
	if warnings, err := inHashes.Check(t.Context()); err != nil || len(warnings) != 1 || !strings.HasPrefix(warnings[0], "no permission for hscan; ") {
		t.Errorf("without HSCAN: %q %v", warnings, err)
	}
}
