package lua

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// TestScriptsWriteManyKeys checks that a server with MSETEX writes states together, that each key lives a
// little longer than its state, and that a missing right or a full server affects as few keys as possible.
func TestScriptsWriteManyKeys(t *testing.T) {
	t.Parallel()
	for _, flavor := range []redistest.Flavor{redistest.Redis, redistest.Valkey} {
		t.Run(string(flavor), func(t *testing.T) {
			t.Parallel()
			s := redistest.Standalone(t, flavor)
			if reply := fmt.Sprint(s.MustDo("command", "info", "msetex")); !strings.Contains(reply, "msetex") {
				t.Skip("this server has no MSETEX: make test-servers runs newer ones")
			}
			writeManyKeys(t, s)
			keepOtherTypes(t, s)
			liveAsLongAsAlone(t, s)
		})
	}
}

func writeManyKeys(t *testing.T, s *redistest.Server) {
	t.Helper()
	s.MustDo("acl", "setuser", "app", "on", ">pw", "~*", "&*", "+@all")
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), "app:pw@"), redisstore.Config{})
	limits := []engine.Limit{rule.TokenBucket(rule.PerMinute(60)), rule.FixedWindow(rule.PerMinute(60))}
	take := func(remaining int64, failure string) {
		t.Helper()
		for _, limit := range limits {
			var ops []engine.Op
			for key := range 20 {
				ops = append(ops, engine.Single(engine.OpAllow, fmt.Sprint("k", key), limit, 1))
			}
			results := make([]engine.Answer, len(ops))
			store.Do(context.Background(), ops, results)
			for i := range results {
				r := &results[i]
				if failure == "" && (r.Err != nil || r.Binds().Remaining != remaining) || failure != "" && (r.Err == nil || !strings.Contains(r.Err.Error(), failure)) {
					t.Fatalf("%s, key %d: %+v; want %d remaining, or %q", limit, i, r, remaining, failure)
				}
			}
		}
	}
	calls := func() string { return s.Text("info", "commandstats") }
	s.Text("config", "resetstat") // drops the count of the MSETEX in the check at the start
	take(59, "")
	take(58, "")
	if !strings.Contains(calls(), "cmdstat_msetex:calls=4,") || strings.Contains(calls(), "cmdstat_set:") {
		t.Errorf("four calls of 20 keys do not write them by four commands:\n%s", calls())
	}
	op := engine.Single(engine.OpAllow, "k0", limits[0], 1)
	if left, _ := s.MustDo("pttl", store.Keys(&op)[0]).(int64); left < 2000 || left > 4*2000+5000 {
		t.Errorf("a state that ends in 2 s has a key for %d ms", left)
	}
	s.MustDo("acl", "setuser", "app", "-msetex")
	take(57, "") // without MSETEX, so each key is written separately
	s.MustDo("config", "set", "maxmemory", "1")
	take(0, "OOM")
	s.MustDo("acl", "setuser", "app", "+msetex")
	take(0, "OOM")
	s.MustDo("config", "set", "maxmemory", "0")
	take(56, "")
}

// keepOtherTypes checks a call for new keys if one of them has another type: this key is kept and reported, and the
// others are decided and written.
func keepOtherTypes(t *testing.T, s *redistest.Server) {
	t.Helper()
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Prefix: testbed.Prefix()})
	var ops []engine.Op
	for key := range 20 {
		ops = append(ops, engine.Single(engine.OpAllow, fmt.Sprint("k", key), rule.TokenBucket(rule.PerMinute(60)), 1))
	}
	const other = 7
	s.MustDo("hset", store.Keys(&ops[other])[0], "field", "value")
	for remaining := int64(59); remaining > 56; remaining-- {
		results := make([]engine.Answer, len(ops))
		store.Do(context.Background(), ops, results)
		for i := range results {
			r := &results[i]
			if i == other {
				if e, ok := errors.AsType[*redisstore.Error](r.Err); !ok || e.Class != redisstore.WrongType {
					t.Errorf("a key of another type: %+v", r)
				}
			} else if r.Err != nil || r.Binds().Remaining != remaining {
				t.Errorf("key %d: %+v; want %d remaining", i, r, remaining)
			}
		}
	}
	if kind := fmt.Sprint(s.MustDo("hget", store.Keys(&ops[other])[0], "field")); kind != "value" {
		t.Errorf("the key of another type has %q", kind)
	}
}

// liveAsLongAsAlone checks that a new key gets its full time to live when one call also writes keys whose windows
// end soon. The new key is the last operation, and has another limit.
func liveAsLongAsAlone(t *testing.T, s *redistest.Server) {
	t.Helper()
	clock := headgatetest.NewClock()
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Prefix: testbed.Prefix(), Clock: clock.Now})
	first := rule.FixedWindow(rule.Per(10, time.Hour), rule.Named("first"))
	second := rule.FixedWindow(rule.Per(10, time.Hour), rule.Named("second"))
	take := func(ops ...engine.Op) {
		t.Helper()
		results := make([]engine.Answer, len(ops))
		store.Do(context.Background(), ops, results)
		for i := range results {
			if results[i].Err != nil || !results[i].Allowed {
				t.Fatalf("%+v", results[i])
			}
		}
	}
	allow := func(key string, limit engine.Limit) engine.Op { return engine.Single(engine.OpAllow, key, limit, 1) }
	take(allow("old", first), allow("older", first))
	clock.Advance(time.Hour - time.Second)
	last := allow("new too", second)
	take(allow("new", first), allow("old", first), allow("older", first), last)
	const pad = time.Hour // the pad in lua/prelude_replay.lua
	ms, _ := s.MustDo("pttl", store.Keys(&last)[0]).(int64)
	if left := time.Duration(ms)*time.Millisecond - pad; left < time.Hour-time.Minute {
		t.Errorf("the key of a window of 1h lasts for %s", left)
	}
}
