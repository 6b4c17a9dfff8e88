package decide_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/filelimit"
)

const heldPolicies = `
policies:
  jobs: {algorithm: concurrency, limit: 2, lease: 1m}
  rate: {algorithm: token-bucket, rate: 1/h, burst: 3}
  pace: {algorithm: pacer, rate: 1/h, max_queue: 5}
  watched: {algorithm: concurrency, limit: 2, lease: 1m, shadow: {limit: 1}}
overrides:
  - {policy: jobs, key: vip, unlimited: true}
  - {policy: jobs, key: bad, deny: true}
routes: [{match: {path: /one}, key: [{header: X-User}], policies: [jobs, rate]}]
`

// heldConfig returns the policies and a limiter in memory.
func heldConfig(t *testing.T) (*policy.Config, *headgate.Limiter) {
	t.Helper()
	config, err := policy.Reader{Gateway: true}.Parse("x.yaml", []byte(heldPolicies))
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New()
	t.Cleanup(func() { _ = limiter.Close() })
	return config, limiter
}

func holds(key string, policies ...string) decide.Request {
	r := decide.Request{Kind: engine.OpAllow, Holds: true}
	for _, name := range policies {
		r.Items = append(r.Items, decide.Item{Policy: name, Key: key})
	}
	return r
}

// TestHolds checks that a request gets both its permits and its units, or neither. A token bucket in the same request
// denies requests and does not delay them. A pacer delays them.
func TestHolds(t *testing.T) {
	config, limiter := heldConfig(t)
	l := filelimit.New(config, limiter)
	free := func(policy, key string, want int64) {
		t.Helper()
		if d, err := l.Peek(t.Context(), policy, key, 1); err != nil || d.Remaining != want {
			t.Errorf("%s of %s: %d left, %v, want %d", policy, key, d.Remaining, err, want)
		}
	}
	var held []decide.Response
	for i, allowed := range []bool{true, true, false} {
		r := ask(t, l, holds("ann", "jobs", "rate"))
		if r.Err != nil || r.Allowed != allowed || (r.Permits != nil) != allowed || r.Delay != 0 {
			t.Errorf("%d: %+v", i, r)
		}
		held = append(held, *r)
	}
	free("jobs", "ann", 0)
	free("rate", "ann", 1)
	for _, r := range held[:2] {
		if err := r.Permits.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
	free("jobs", "ann", 2)
	ask(t, l, decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: "rate", Key: "ann"}})
	if r := ask(t, l, holds("ann", "jobs", "rate")); r.Allowed || r.Permits != nil || r.Policy != "rate" {
		t.Errorf("the other limit denies: %+v", r)
	}
	free("jobs", "ann", 2)
	if r := ask(t, l, holds("vip", "jobs", "rate")); !r.Allowed || r.Permits != nil {
		t.Errorf("without a limit: %+v", r)
	}
	if r := ask(t, l, holds("bad", "jobs", "rate")); r.Allowed || r.Permits != nil || r.Binds().RetryAfter != headgate.Never {
		t.Errorf("denied by an override: %+v", r)
	}
	free("rate", "bad", 3)
	for i, delayed := range []bool{false, true} {
		if r := ask(t, l, holds("paced", "jobs", "pace")); !r.Allowed || (r.Delay > 0) != delayed || r.Permits == nil {
			t.Errorf("%d with a pacer: %+v", i, r)
		}
	}
}

// TestRetryAfterOfPermits checks that a denial by a concurrency limit has a short Retry-After, although its decision's
// wait is the time until a permit expires; another limit's wait, and a cost that can never pass, stay as they are.
// Regression: bug 164.
func TestRetryAfterOfPermits(t *testing.T) {
	config, limiter := heldConfig(t)
	l := filelimit.New(config, limiter)
	for _, c := range []struct {
		policy string
		cost   int64
		passed int
		want   string
	}{{"jobs", 1, 2, "1"}, {"jobs", 3, 0, ""}, {"rate", 1, 3, "3600"}} {
		r := holds("eve", c.policy)
		r.Items[0].Cost, r.Items[0].HasCost = c.cost, true
		for range c.passed {
			if r := ask(t, l, r); r.Err != nil || !r.Allowed {
				t.Fatalf("%+v", r)
			}
		}
		h := http.Header{}
		if r := ask(t, l, r); r.Allowed || r.Err != nil || c.want == "1" && r.Binds().RetryAfter < 50*time.Second {
			t.Errorf("%+v", r)
		} else if r.WriteHeaders(h); h.Get("Retry-After") != c.want {
			t.Errorf("%s, cost %d: Retry-After %q, want %q", c.policy, c.cost, h.Get("Retry-After"), c.want)
		}
	}
}

// TestHoldsWithoutHolding checks that a request without Holds cannot charge a concurrency limit, because its caller
// would not release the permit.
func TestHoldsWithoutHolding(t *testing.T) {
	config, limiter := heldConfig(t)
	r := holds("ann", "jobs")
	r.Holds = false
	if r := ask(t, filelimit.New(config, limiter), r); r.Err == nil {
		t.Errorf("%+v", r)
	}
}

// TestShadowHolds checks that a candidate's permits are acquired too, and that the caller releases them even after a
// denial.
func TestShadowHolds(t *testing.T) {
	config, limiter := heldConfig(t)
	rules := decide.Rules{Limiter: limiter.Core()}
	do := func(policies ...string) (decide.Response, []decide.Shadow) {
		b := rules.Begin(config.Policies, 1, nil)
		defer b.End()
		r := holds("ann", policies...)
		b.Add(&r)
		b.Do(context.Background())
		responses := make([]decide.Response, 1)
		b.Answer(0, &responses[0])
		return responses[0], append([]decide.Shadow(nil), b.Shadows(responses)...)
	}
	for range 3 { // a permit that is still held would deny a request of the next round
		first, shadows := do("watched")
		if !first.Allowed || shadows[0].Denied {
			t.Errorf("%+v %+v", first, shadows)
		}
		second, shadows := do("watched")
		if !second.Allowed || !shadows[0].Denied {
			t.Errorf("%+v %+v", second, shadows)
		}
		third, _ := do("watched")
		if third.Allowed {
			t.Errorf("%+v", third)
		}
		for _, r := range []decide.Response{first, second, third} {
			if r.Permits != nil {
				_ = r.Permits.Release(t.Context())
			}
		}
	}
}
