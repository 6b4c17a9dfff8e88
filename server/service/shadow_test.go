package service_test

import (
	"context"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/service"
)

// TestShadowErrorIsNotTheAnswers checks that if a shadow cannot be decided, here because the memory store is full,
// every verb still returns the live limit's answer (regression: bug 59: the limit was charged, but the client got an
// error).
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
		limiter := headgate.New(headgate.WithStore(store))
		defer limiter.Close()
		s := service.New(service.Config{Limiter: limiter})
		s.SetPolicies(config.Policies, config.Routes)
		request := decide.Request{Kind: kind, Policy: "take", Key: "k"}
		if kind == engine.OpAcquire {
			request.Policy = "jobs"
		}
		for i := range 2 {
			var responses [1]decide.Response
			s.Do(context.Background(), service.HTTP, []decide.Request{request}, responses[:])
			if r := responses[0]; r.Err != nil || !r.Decision.Allowed {
				t.Errorf("%s %d: %+v", kind, i, r)
			}
		}
	}
}
