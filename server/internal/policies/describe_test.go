package policies_test

import (
	"testing"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/policies"
)

func TestDescribe(t *testing.T) {
	c, err := policy.Parse("p.yaml", []byte(`
policies:
  api: {algorithm: token-bucket, rate: 100/s, burst: 200, cost: 2, shadow: {rate: 50/s}}
  plan: {all: [{algorithm: token-bucket, rate: 40/s, name: second}, {algorithm: fixed-window, limit: 100, window: 1d}]}
  lanes: {algorithm: fixed-window, limit: 100, window: 1h, classes: [{name: live}, {name: batch, leaves: 40%}]}
overrides:
  - {policy: api, key: "partner-*", set: {rate: 1000/s}}
  - {policy: plan, key: flood, deny: true}
  - {policy: plan/second, key: calm, set: {rate: 9/s}}
  - {policy: lanes, key: job, class: batch}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ target, key, want string }{
		{"api", "", "100/s burst 200, cost 2, candidate 50/s burst 200"},
		{"api", "joe", "100/s burst 200"},
		{"api", "partner-7", "1000/s burst 200"},
		{"api", "partner-*", "1000/s burst 200"},
		{"plan", "", `40/s name "second" + fixed-window 100/1d name "2"`},
		{"plan", "flood", "deny"},
		{"plan/second", "calm", `9/s name "second" + fixed-window 100/1d name "2"`},
		{"lanes", "job", "fixed-window 100/1h class batch"},
		{"lanes", "joe", "fixed-window 100/1h"},
		{"none", "", "none"},
	} {
		if got := policies.Describe(c, test.target, test.key); got != test.want {
			t.Errorf("%s %s: %q, want %q", test.target, test.key, got, test.want)
		}
	}
}
