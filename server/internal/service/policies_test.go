package service_test

import (
	"context"
	"testing"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/service"
)

// TestRouteRemovedFromTheFile checks that a request is not limited if its route's policies are removed from the file
// between routing and decision.
func TestRouteRemovedFromTheFile(t *testing.T) {
	before, err := policy.Parse("before.yaml", []byte("policies: {a: 1/1h}\nroutes: [{key: [{const: all}], policies: [a]}]"))
	if err != nil {
		t.Fatal(err)
	}
	after, err := policy.Parse("after.yaml", []byte("policies: {b: 1/1h}"))
	if err != nil {
		t.Fatal(err)
	}
	s := service.New(service.Config{Limiter: core.New(core.Config{})})
	s.SetPolicies(before.Policies, before.Routes)
	request, ok := s.Route(&route.Request{Method: "GET", Path: "/"})
	if !ok {
		t.Fatal("no route")
	}
	s.SetPolicies(after.Policies, after.Routes)
	var responses [1]decide.Response
	s.Do(context.Background(), service.HTTP, []decide.Request{request}, responses[:])
	if r := responses[0]; r.Err != nil || !r.Allowed {
		t.Errorf("%+v", r)
	}
}
