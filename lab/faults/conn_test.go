package faults

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/headgate/headgate"
	goredisadapter "github.com/headgate/headgate/adapter/goredis"
	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/redisstore"
)

// A store on the program's own client has the layers of a store that was opened by its URL: it shares its counters, ends
// its calls after 50 ms, and decides by shares in an outage. To close it leaves the client open.
func TestLayersOnOwnClients(t *testing.T) {
	t.Parallel()
	var none *redis.Client
	for name, make := range map[string]func() (redisstore.Conn, error){
		"go-redis": func() (redisstore.Conn, error) { return goredisadapter.New(nil) },
		"typed":    func() (redisstore.Conn, error) { return goredisadapter.New(none) },
		"rueidis":  func() (redisstore.Conn, error) { return rueidisadapter.New(nil, false) },
	} {
		if _, err := make(); !errors.Is(err, headgate.ErrInvalid) {
			t.Errorf("a nil client of %s: %v", name, err)
		}
	}
	s := redistest.Standalone(t, redistest.Redis)
	theirs := redis.NewClient(&redis.Options{Addr: s.Addr(), ContextTimeoutEnabled: true})
	defer theirs.Close()
	ours, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr()}, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	byGoRedis, err := goredisadapter.New(theirs)
	if err != nil {
		t.Fatal(err)
	}
	byRueidis, err := rueidisadapter.New(ours, false)
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan bool, 9)
	const deadline = 500 * time.Millisecond // a busy machine must not look like an outage
	byURL := program(t, "redis://"+s.Addr()+"?prefix=hg/app", open.Options{Deadline: deadline})
	var policies []*headgate.Policy
	for _, conn := range []redisstore.Conn{byGoRedis, byRueidis} {
		store, err := open.Conn(t.Context(), conn, open.Options{
			SubPrefix: "app", Deadline: deadline,
			Fallback: &fallback.Config{Expect: 1, OnOutage: func(away bool, _ error) { events <- away }},
		})
		if err != nil {
			t.Fatal(err)
		}
		limiter := headgate.New(headgate.WithStore(store))
		t.Cleanup(func() { _, _ = limiter.Close(), store.Close() })
		policies = append(policies, limiter.Policy("per-user", headgate.FixedWindow{Rate: headgate.PerHour(10)}))
	}
	for i, p := range append(policies, byURL) {
		if d, err := p.Allow(t.Context(), "k"); err != nil || d.Promise.Mode != engine.Exact || d.Remaining != int64(9-i) {
			t.Errorf("program %d: %+v, %v", i, d, err)
		}
	}
	s.Pause()
	defer s.Resume()
	if _, err := byURL.Allow(t.Context(), "k"); !errors.Is(err, headgate.ErrStoreUnavailable) {
		t.Errorf("without shares: %v", err)
	}
	for i, p := range policies {
		for range 20 {
			if d, err := p.Allow(t.Context(), "k"); err != nil || d.Promise.Mode != engine.Fallback {
				t.Fatalf("program %d in an outage: %+v, %v", i, d, err)
			}
		}
	}
	for range policies {
		if !<-events {
			t.Error("the store is back?")
		}
	}
	s.Resume()
	for range policies {
		if <-events {
			t.Error("the store is away again?")
		}
	}
	if err := theirs.Ping(context.Background()).Err(); err != nil {
		t.Error(err)
	}
}
