package service_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
)

// noted is an observer that records calls and shadows as text.
type noted struct{ calls, shadows []string }

func (n *noted) Observe(o *service.Observed) {
	n.calls = append(n.calls, fmt.Sprint(o.FrontEnd, " ", len(o.Requests), " ", len(o.Responses), " ", o.Took > 0))
	for i := range o.Shadows {
		s := &o.Shadows[i]
		n.shadows = append(n.shadows, fmt.Sprint(s.Request, " ", s.Owner.Name, " ", s.Denied, " ", s.Err))
	}
}

// TestObserverSeesShadowsOfTheirRequests covers calls with inline limits, errors, a policy without shadows and several
// policies with shadows.
func TestObserverSeesShadowsOfTheirRequests(t *testing.T) {
	config, err := policy.Parse("p.yaml", []byte(`
policies:
  live:  {algorithm: token-bucket, rate: 1/1h, burst: 10, shadow: {algorithm: token-bucket, rate: 1/1h, burst: 1}}
  plain: 10/h
  trial: {algorithm: token-bucket, rate: 1/1h, burst: 1, shadow: true}
  all:   {all: [plain, live, trial]}
`))
	if err != nil {
		t.Fatal(err)
	}
	limiter := core.New(core.Config{})
	defer limiter.Close()
	n := new(noted)
	s := service.New(service.Config{Limiter: limiter, Policies: config.Policies, Observer: n})
	of := func(name string) decide.Request {
		return decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: name, Key: "k"}}
	}
	requests := []decide.Request{
		{Kind: engine.OpAllow, Item: decide.Item{Key: "k", Limit: rule.TokenBucket(rule.PerSecond(1))}},
		of("live"), of("unknown"), of("plain"), of("all"), of("live"),
		{Kind: engine.OpReset, Item: decide.Item{Policy: "live", Key: "k"}}, // rejected as forbidden
		of("trial"),
	}
	s.Do(context.Background(), service.HTTP, requests, make([]decide.Response, len(requests)))
	want := []string{"1 live false <nil>", "4 live true <nil>", "4 trial false <nil>", "5 live true <nil>", "7 trial true <nil>"}
	if !slices.Equal(n.shadows, want) {
		t.Errorf("%q", n.shadows)
	}
	if want := []string{"http 8 8 true"}; !slices.Equal(n.calls, want) {
		t.Errorf("%q", n.calls)
	}
}

// TestAdminWrites checks that operators can give and reset even if clients cannot.
func TestAdminWrites(t *testing.T) {
	config, err := policy.Parse("p.yaml", []byte("policies: {api: 1/h}"))
	if err != nil {
		t.Fatal(err)
	}
	limiter := core.New(core.Config{})
	defer limiter.Close()
	s := service.New(service.Config{Limiter: limiter, Policies: config.Policies})
	for from := range service.FrontEnds {
		answers := make([]decide.Response, 1)
		s.Do(context.Background(), from, []decide.Request{{Kind: engine.OpReset, Item: decide.Item{Policy: "api", Key: "k"}}}, answers)
		if allowed := answers[0].Err == nil; allowed != (from == service.Admin) {
			t.Errorf("%v: %v", from, answers[0].Err)
		}
	}
}
