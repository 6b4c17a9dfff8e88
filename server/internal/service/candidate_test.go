package service_test

import (
	"testing"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
)

// TestCandidateNeverDenies checks that each take also charges the policy's candidate, even if another policy's "all"
// includes the policy. The candidate does not appear in the answer, denies nothing, and is counted in a separate
// namespace. It does not apply to a key with an override.
func TestCandidateNeverDenies(t *testing.T) {
	config, err := policy.Parse("x.yaml", []byte(`
policies:
  api:  {algorithm: fixed-window, limit: 9, window: 1h, shadow: {algorithm: fixed-window, limit: 2, window: 1h}}
  both: {all: [api, {algorithm: fixed-window, limit: 5, window: 1h}]}
overrides: [{policy: api, key: vip, set: {limit: 99}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	limiter := core.New(core.Config{})
	defer limiter.Close()
	s := service.New(service.Config{Limiter: limiter, Policies: config.Policies, AllowWrites: true})
	for i, c := range []struct {
		policy, key string
		remaining   int64
		limits      int
	}{{"api", "k", 8, 1}, {"both", "k", 4, 2}, {"api", "k", 6, 1}, {"api", "vip", 98, 1}} {
		r := do(s, decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: c.policy, Key: c.key}})[0]
		if r.Err != nil || !r.Allowed || r.Binds().Remaining != c.remaining || r.Count() != c.limits {
			t.Errorf("%d: %+v, want %d remaining, %d answers of limits", i, r, c.remaining, c.limits)
		}
	}
	remaining := func(key string) int64 {
		op := engine.Single(engine.OpPeek, key, rule.FixedWindow(rule.PerHour(2)), 1)
		op.Space = "policy:api:shadow"
		return limiter.Decide(t.Context(), op)[0].Binds().Remaining
	}
	if got := remaining("k"); got != 0 {
		t.Errorf("%d remaining of the candidate, want 0: it denied the third take", got)
	}
	if got := remaining("vip"); got != 2 {
		t.Errorf("%d remaining of the candidate for a key with an override, want 2", got)
	}
	if r := do(s, decide.Request{Kind: engine.OpReset, Item: decide.Item{Policy: "api", Key: "k"}})[0]; r.Err != nil || remaining("k") != 2 {
		t.Errorf("a reset leaves the candidate: %+v", r)
	}
}
