package service_test

import (
	"context"
	"testing"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/memstore"
	openstore "github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/service"
)

// TestShadowErrorIsNotTheAnswers checks that if a shadow cannot be decided, here because the memory store is full, an
// allow, a reserve and an acquire still return the live limit's answer. Before, the limit was charged, but the client
// got an error (regression: bug 59).
func TestShadowErrorIsNotTheAnswers(t *testing.T) {
	config, err := policy.Parse("shadow.yaml", []byte(`
policies:
  take: {algorithm: fixed-window, limit: 9, window: 1h, shadow: {algorithm: sliding-log, limit: 3, window: 1h}}
  jobs: {algorithm: concurrency, limit: 3, lease: 1h, shadow: {limit: 1}}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []engine.Kind{engine.OpAllow, engine.OpReserve, engine.OpAcquire} {
		store, err := memstore.New(memstore.Config{MaxKeys: 1})
		if err != nil {
			t.Fatal(err)
		}
		limiter := core.New(core.Config{Store: store})
		defer limiter.Close()
		s := service.New(service.Config{Limiter: limiter})
		s.SetPolicies(config.Policies, config.Routes)
		request := decide.Request{Kind: kind, Item: decide.Item{Policy: "take", Key: "k"}}
		if kind == engine.OpAcquire {
			request.Policy = "jobs"
		}
		for i := range 2 {
			var responses [1]decide.Response
			s.Do(context.Background(), service.HTTP, []decide.Request{request}, responses[:])
			if r := responses[0]; r.Err != nil || !r.Allowed {
				t.Errorf("%s %d: %+v", kind, i, r)
			}
		}
	}
}

// TestShadowOfAnotherFailureMode checks that while the store is unavailable, the failure mode of a shadow does not
// affect the answers to requests (regression: bug 78).
func TestShadowOfAnotherFailureMode(t *testing.T) {
	config, err := policy.Parse("shadow.yaml", []byte(`
policies:
  live:  {algorithm: token-bucket, rate: 1000000/s, burst: 100}
  ghost: {algorithm: fixed-window, limit: 1, window: 1h, shadow: true, failure: deny}
routes:
  - {match: {path: /one}, key: [{const: k}], policies: [live, ghost]}
  - {match: {path: /two}, charge: [{policy: live, key: [{const: k}]}, {policy: ghost, key: [{const: g}]}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	store, err := openstore.URL(t.Context(), "redis://127.0.0.1:1", openstore.Options{StartAway: true, Fallback: &fallback.Config{Expect: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	limiter := core.New(core.Config{Store: store})
	defer limiter.Close()
	s := service.New(service.Config{Limiter: limiter, Failure: policy.Local, CheckStore: true})
	s.SetPolicies(config.Policies, config.Routes)
	list := []decide.Item{{Policy: "live", Key: "k"}, {Policy: "ghost", Key: "g"}}
	requests := []decide.Request{
		{Kind: engine.OpAllow, Items: list},
		{Kind: engine.OpReserve, Items: list},
		{Kind: engine.OpReserve, Items: list[1:]},
		{Kind: engine.OpAllow, Item: decide.Item{Policy: "ghost", Key: "k"}},
		{Kind: engine.OpReserve, Item: decide.Item{Policy: "ghost", Key: "k"}},
	}
	for _, path := range []string{"/one", "/two"} {
		m, ok := config.Routes.Find(&route.Request{Method: "GET", Path: path})
		if !ok {
			t.Fatal("no route", path)
		}
		requests = append(requests, decide.Routed(&m))
	}
	for i := range requests {
		var responses [1]decide.Response
		s.Do(t.Context(), service.HTTP, requests[i:i+1], responses[:])
		if r := &responses[0]; r.Err != nil || !r.Allowed {
			t.Errorf("request %d: %v, allowed %t", i, r.Err, r.Allowed)
		}
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("a shadow makes the server unready: %v", err)
	}
}
