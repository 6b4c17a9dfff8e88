package faults

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/redisstore"
)

// A server that answers but refuses what it is asked is an outage, in which shares decide, for a process for which it
// has worked. A process that starts then gets an error that names the mistake, and works as soon as the server does.
// Regression: bug 158.
func TestRefusalIsAnOutageOnceRedisHasWorked(t *testing.T) {
	t.Parallel()
	set := func(name, bad, good string) [2]func(*redistest.Server) {
		return [2]func(*redistest.Server){
			func(s *redistest.Server) { s.MustDo("config", "set", name, bad) },
			func(s *redistest.Server) { s.MustDo("config", "set", name, good) },
		}
	}
	user := func(bad, good []any) [2]func(*redistest.Server) {
		change := func(rules []any) func(*redistest.Server) {
			return func(s *redistest.Server) {
				s.MustDo(append([]any{"acl", "setuser", "app"}, rules...)...)
				_, _ = s.Do("client", "kill", "user", "app")
			}
		}
		return [2]func(*redistest.Server){change(bad), change(good)}
	}
	for class, turn := range map[redisstore.Class][2]func(*redistest.Server){
		redisstore.OutOfMemory:  set("maxmemory", "1", "0"),
		redisstore.NoReplicas:   set("min-replicas-to-write", "1", "0"),
		redisstore.NoPermission: user([]any{"-eval", "-evalsha"}, []any{"+eval", "+evalsha"}),
		redisstore.NoAuth:       user([]any{"<pw", ">other"}, []any{"<other", ">pw"}),
		redisstore.ReadOnly: {
			func(s *redistest.Server) { s.MustDo("replicaof", "127.0.0.1", "1") },
			func(s *redistest.Server) { s.MustDo("replicaof", "no", "one") },
		},
		redisstore.NoDisk: {
			func(s *redistest.Server) {
				s.MustDo("config", "set", "save", "3600 1")
				s.MustDo("bgsave")
				testbed.Until(t, "a save has failed", func() bool { return strings.Contains(s.Text("info", "persistence"), "rdb_last_bgsave_status:err") })
			},
			func(s *redistest.Server) { s.MustDo("config", "set", "stop-writes-on-bgsave-error", "no") },
		},
	} {
		t.Run(class.String(), func(t *testing.T) {
			t.Parallel()
			var config []string
			if class == redisstore.NoDisk {
				config = []string{"dir /proc"}
			}
			s := redistest.Standalone(t, redistest.Redis, config...)
			s.MustDo("acl", "setuser", "app", "on", ">pw", "~*", "&*", "+@all")
			old := sharing(t, s)
			if r := testbed.Take(old, "k", testbed.Hourly); r.Err != nil || r.Promise.Mode != engine.Exact {
				t.Fatalf("before: %+v", r)
			}
			refuse, accept := turn[0], turn[1]
			refuse(s)
			var cause *redisstore.Error
			testbed.Until(t, "shares decide, because of a refusal", func() bool {
				r := testbed.Take(old, "k", testbed.Hourly)
				if r.Err != nil {
					t.Fatalf("an error instead of an answer by the share: %v", r.Err)
				}
				return r.Promise.Mode == engine.Fallback && errors.As(old.Fallback.Cause(), &cause) && cause.Class == class
			})
			if old.Redis.Refused() != nil {
				t.Errorf("a Redis that has worked: %v", old.Redis.Refused())
			}
			startsRefused(t, s, class, accept)
			testbed.Until(t, "the old process decides exactly again", func() bool {
				r := testbed.Take(old, "k", testbed.Hourly)
				return r.Err == nil && r.Promise.Mode == engine.Exact
			})
		})
	}
}

// startsRefused starts a process while its server refuses with the class. A wrong password or a missing permission
// keeps it from starting; otherwise its decisions are errors of the class, until the server accepts.
func startsRefused(t *testing.T, s *redistest.Server, class redisstore.Class, accept func(*redistest.Server)) {
	t.Helper()
	fresh, err := open.URL(t.Context(), "redis://app:pw@"+s.Addr(), open.Options{StartAway: true, Fallback: &fallback.Config{Expect: 2}})
	if class == redisstore.NoAuth || class == redisstore.NoPermission {
		if err == nil || !strings.Contains(fmt.Sprint(err), map[bool]string{true: "WRONGPASS", false: "ACL SETUSER"}[class == redisstore.NoAuth]) {
			t.Errorf("started: %v", err)
		}
		accept(s)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	if fresh.Away == nil || fresh.Redis.Refused() == nil {
		t.Errorf("a server that has never worked: away %v, refused %v", fresh.Away, fresh.Redis.Refused())
	}
	r := testbed.Take(fresh, "k", testbed.Hourly)
	testbed.WantClass(t, r, class)
	if engine.Away(r.Err) || !errors.Is(r.Err, headgate.ErrStoreUnavailable) {
		t.Errorf("a mistake in the settings is an outage: %v", r.Err)
	}
	accept(s)
	testbed.Until(t, "the new process decides exactly", func() bool {
		r := testbed.Take(fresh, "k", testbed.Hourly)
		return r.Err == nil && r.Promise.Mode == engine.Exact
	})
	if err := fresh.Redis.Refused(); err != nil {
		t.Errorf("after a decision: %v", err)
	}
}

// sharing opens a store with shares, as a process that has worked.
func sharing(t *testing.T, s *redistest.Server) open.Opened {
	t.Helper()
	store, err := open.URL(t.Context(), "redis://app:pw@"+s.Addr(), open.Options{Fallback: &fallback.Config{Expect: 2}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}
