package service_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	_ "time/tzdata"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/storetest"
)

var (
	one = rule.FixedWindow(rule.PerHour(1))
	two = rule.FixedWindow(rule.PerHour(2), rule.Named("two"))
)

func open(t *testing.T, maxKeys int, failure policy.Failure) (*service.Service, *core.Limiter) {
	t.Helper()
	store, err := memstore.New(memstore.Config{Clock: headgatetest.NewClock().Now, MaxKeys: maxKeys})
	if err != nil {
		t.Fatal(err)
	}
	limiter := core.New(core.Config{Store: storetest.Away(store, "unanswered")})
	return service.New(service.Config{Limiter: limiter, Failure: failure, AllowWrites: true}), limiter
}

func take(key string, limit engine.Limit) decide.Request {
	return decide.Request{Kind: engine.OpAllow, Item: decide.Item{Key: key, Limit: limit}}
}

func do(s *service.Service, requests ...decide.Request) []decide.Response {
	responses := make([]decide.Response, len(requests))
	s.Do(context.Background(), service.RESP, requests, responses)
	return responses
}

// TestLargeBatchKeepsOrder checks that a batch that needs several limiter calls is decided in order.
func TestLargeBatchKeepsOrder(t *testing.T) {
	s, _ := open(t, 10_000, policy.Deny)
	requests := make([]decide.Request, 2500)
	for i := range requests {
		requests[i] = take(strconv.Itoa(i/2), one)
	}
	for i, r := range do(s, requests...) {
		if r.Err != nil || r.Allowed != (i%2 == 0) {
			t.Fatalf("request %d: allowed=%t, %v", i, r.Allowed, r.Err)
		}
	}
}

// TestSeveralInlineLimits checks that several inline limits are charged all or nothing, and that the response contains
// an answer for each.
func TestSeveralInlineLimits(t *testing.T) {
	s, _ := open(t, 100, policy.Deny)
	both := decide.Request{Kind: engine.OpAllow, Item: decide.Item{Key: "k", Limits: []engine.Limit{one, two}}}
	r := do(s, both, both, take("k", two))
	if !r[0].Allowed || r[1].Allowed || r[1].Binding != 0 || !r[2].Allowed {
		t.Errorf("%+v", r)
	}
	if r[0].Count() != 2 || r[0].Charge(1).Limit != two || r[0].Of(1).Remaining != 1 || r[0].Policy != "" {
		t.Errorf("limits %+v", r[0])
	}
}

// TestFailureModes checks that if the decision is unknown, the failure mode deny returns an error, and the failure mode
// allow returns a decision in mode fallback. An invalid request gets an error in both modes.
func TestFailureModes(t *testing.T) {
	for _, failure := range []policy.Failure{policy.Deny, policy.Allow} {
		s, limiter := open(t, 1, failure)
		r := do(s, take("first", one), take("unanswered", one), take("", one))
		var e *service.Error
		if !errors.As(r[2].Err, &e) || e.Code != service.Invalid || e.Field != "key" {
			t.Errorf("%s: a bad key: %v", failure, r[2].Err)
		}
		switch failure {
		case policy.Deny:
			if !errors.As(r[1].Err, &e) || e.Code != service.Unavailable || !errors.Is(e, headgate.ErrStoreUnavailable) {
				t.Errorf("deny: %v", r[1].Err)
			}
		case policy.Allow:
			d := r[1].Answer
			if r[1].Err != nil || !d.Allowed || d.Granted != 1 || d.Promise != (engine.Promise{Mode: engine.Fallback, OvershootMax: engine.Unbounded}) {
				t.Errorf("allow: %+v, %v", d, r[1].Err)
			}
		}
		if err := limiter.Close(); err != nil {
			t.Fatal(err)
		}
		if r := do(s, take("first", one)); !errors.Is(r[0].Err, headgate.ErrClosed) {
			t.Errorf("%s, closed: %+v", failure, r[0])
		}
	}
}

// TestShadowNeverDenies checks that a shadow is counted separately from the limit and denies no request.
func TestShadowNeverDenies(t *testing.T) {
	config, err := policy.Parse("shadow.yaml", []byte(`
policies:
  quiet: {algorithm: fixed-window, limit: 1, window: 1h, shadow: true}
  loud:  {algorithm: fixed-window, limit: 2, window: 1h}
  both:  {all: [quiet, loud]}
  alone: {all: [quiet]}
`))
	if err != nil {
		t.Fatal(err)
	}
	store, err := memstore.New(memstore.Config{Clock: headgatetest.NewClock().Now})
	if err != nil {
		t.Fatal(err)
	}
	s := service.New(service.Config{Limiter: core.New(core.Config{Store: store}), Policies: config.Policies, AllowWrites: true})
	call := func(kind engine.Kind, name string) decide.Response {
		return do(s, decide.Request{Kind: kind, Item: decide.Item{Policy: name, Key: "k"}})[0]
	}
	for i, want := range []bool{true, true, false} {
		if r := call(engine.OpAllow, "both"); r.Err != nil || r.Allowed != want || r.Binds().Limit != 2 || r.Policy != "loud" {
			t.Errorf("call %d: %+v, want allowed=%t by loud", i, r, want)
		}
	}
	if r := call(engine.OpAllow, "alone"); !r.Allowed || !r.Binds().Unlimited || r.Granted != 1 {
		t.Errorf("shadows alone: %+v", r.Answer)
	}
	if r := call(engine.OpReset, "quiet"); !r.Found {
		t.Error("the shadow did not count")
	}
}
