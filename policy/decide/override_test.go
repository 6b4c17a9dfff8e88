package decide_test

import (
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/filelimit"
)

// TestAnswersOfOverrides checks that an answer says whether the binding limit comes from an override.
func TestAnswersOfOverrides(t *testing.T) {
	config, err := policy.Parse("x.yaml", []byte(`
policies:
  day:  {algorithm: fixed-window, limit: 10, window: 1d}
  plan: {all: [day, {name: hour, algorithm: fixed-window, limit: 5, window: 1h}]}
overrides:
  - {policy: day, key: banned, deny: true}
  - {policy: plan/hour, key: "few-*", set: {limit: 2}}
  - {policy: plan/hour, key: many, set: {limit: 50}}
`))
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New()
	defer limiter.Close()
	l := filelimit.New(config, limiter)
	for _, c := range []struct {
		policy, key string
		want        bool
	}{{"day", "ann", false}, {"day", "banned", true}, {"plan", "ann", false}, {"plan", "banned", true}, {"plan", "few-1", true}, {"plan", "many", false}} {
		if r := ask(t, l, decide.Request{Kind: engine.OpPeek, Item: decide.Item{Policy: c.policy, Key: c.key, Cost: 1, HasCost: true}}); r.Override() != c.want {
			t.Errorf("%s %s: %t, %+v", c.policy, c.key, r.Override(), r.Answer)
		}
		one := []decide.Item{{Policy: c.policy, Key: c.key, Cost: 1, HasCost: true}, {Policy: "day", Key: "other", Cost: 1, HasCost: true}}
		if r := ask(t, l, decide.Request{Kind: engine.OpPeek, Items: one}); r.Override() != c.want {
			t.Errorf("items of %s %s: %t, %+v", c.policy, c.key, r.Override(), r.Answer)
		}
	}
}
