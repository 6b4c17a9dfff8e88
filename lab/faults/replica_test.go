package faults

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	goredisadapter "github.com/headgate/headgate/adapter/goredis"
	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/redisstore"
)

// A failover behind one address, such as a Kubernetes Service: the old primary stays up as a replica, and the
// connections to it stay open. Stores of every kind dial the address again, and decide exactly on the new primary.
// Regression: bug 159.
func TestFailoverBehindOneAddress(t *testing.T) {
	t.Parallel()
	primary, replica := redistest.Replicated(t, redistest.Redis)
	p := newProxy(t, primary.Addr())
	address := p.listener.Addr().String()
	theirs := redis.NewClient(&redis.Options{Addr: address, ContextTimeoutEnabled: true})
	defer theirs.Close()
	ours, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	pooled, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}, DisableCache: true, ForceSingleClient: true, DisableAutoPipelining: true})
	if err != nil {
		t.Fatal(err)
	}
	defer pooled.Close()
	stores := map[string]engine.Store{}
	for name, make := range map[string]func() (redisstore.Conn, error){
		"go-redis":        func() (redisstore.Conn, error) { return goredisadapter.New(theirs) },
		"rueidis":         func() (redisstore.Conn, error) { return rueidisadapter.New(ours, false) },
		"rueidis, pooled": func() (redisstore.Conn, error) { return rueidisadapter.New(pooled, false) },
	} {
		conn, err := make()
		if err != nil {
			t.Fatal(err)
		}
		if stores[name], err = redisstore.New(conn, redisstore.Config{}); err != nil {
			t.Fatal(err)
		}
	}
	stores["by URL"] = testbed.OpenRueidis(t, testbed.At(address, ""), redisstore.Config{})
	withShares, err := open.URL(t.Context(), "redis://"+address, open.Options{Fallback: &fallback.Config{Expect: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer withShares.Close()
	stores["with shares"] = withShares
	for name, store := range stores {
		if r := testbed.Take(store, name, testbed.Hourly); r.Err != nil {
			t.Fatalf("%s: %v", name, r.Err)
		}
	}

	replica.MustDo("replicaof", "no", "one")
	primary.MustDo("replicaof", "127.0.0.1", replica.Port)
	p.to.Store(replica.Addr()) // for new connections
	for name, store := range stores {
		testbed.Until(t, name+" decides exactly on the new primary", func() bool {
			r := testbed.Take(store, name, testbed.Hourly)
			return r.Err == nil && r.Promise.Mode == engine.Exact
		})
		if closer, ok := store.(*redisstore.Store); ok && name != "by URL" {
			_ = closer.Close()
		}
	}
}

// An address that leads to a server with other commands for a while: shares decide, without an error. The connections to
// it stay open, so the store dials the address again.
// Regression: bug 238.
func TestStrangeServerBehindOneAddress(t *testing.T) {
	t.Parallel()
	s, strange := redistest.Standalone(t, redistest.Redis), redistest.Standalone(t, redistest.Redis, "rename-command EVALSHA other")
	p := newProxy(t, s.Addr())
	store, err := open.URL(t.Context(), "redis://"+p.listener.Addr().String(), open.Options{Fallback: &fallback.Config{Expect: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	becomes := func(mode engine.Mode) {
		testbed.Until(t, "decisions are "+mode.String(), func() bool {
			r := testbed.Take(store, "k", testbed.Hourly)
			if r.Err != nil {
				t.Fatalf("an error instead of an answer by the share: %v", r.Err)
			}
			return r.Promise.Mode == mode
		})
	}
	becomes(engine.Exact)
	p.to.Store(strange.Addr())
	s.MustDo("client", "kill", "type", "normal", "skipme", "yes")
	var cause *redisstore.Error
	testbed.Until(t, "the server is the other one", func() bool {
		becomes(engine.Fallback)
		return errors.As(store.Fallback.Cause(), &cause) && cause.Class == redisstore.Other
	})
	p.to.Store(s.Addr())
	testbed.Until(t, "every connection leads back", func() bool {
		for range 40 {
			if r := testbed.Take(store, "k", testbed.Hourly); r.Err != nil || r.Promise.Mode != engine.Exact {
				return false
			}
		}
		return true
	})
}
