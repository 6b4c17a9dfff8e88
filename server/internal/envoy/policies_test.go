package envoy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
)

const ruled = `
domain: d
descriptors:
  - {key: a, rate_limit: {unit: minute, requests_per_unit: 3}}
  - {key: a, value: closed, rate_limit: {unit: hour, requests_per_unit: 0}}
  - {key: s, shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 1}}
`

// TestRulesArePolicies checks that an operator can override, try and change a rule's limit like the limit of any
// policy, and that the answers show the active limits.
func TestRulesArePolicies(t *testing.T) {
	for _, semantics := range []Semantics{Original, Improved} {
		f := serving(t, Options{Semantics: semantics}, ruled)
		f.want("OK: OK 2/3 60s", "a=1")
		f.change(policy.Change{Policy: "envoy.d.a", Key: "a=1", Fields: "1/1h"}, policy.Change{Policy: "envoy.d.a", Key: "a=2", Fields: "deny"},
			policy.Change{Policy: "envoy.d.a", Key: "a=3", Fields: "unlimited"}, policy.Change{Policy: "envoy.d.a_closed", Key: "a=closed", Fields: "2/2d"})
		by := func(original, improved string) string { // improved does not count denied hits
			return map[Semantics]string{Original: original, Improved: improved}[semantics]
		}
		f.want(by("OVER_LIMIT: OVER_LIMIT 0/1 3600s", "OVER_LIMIT: OVER_LIMIT 1/1 3600s"), "a=1 x4")
		f.want("OK: OK 1/2 86400s", "a=closed")
		f.want("OVER_LIMIT: OVER_LIMIT 0/0 60s", "a=2")
		f.want("OK: OK unlimited", "a=3")
		f.want("OK: OK 2/3 60s", "a=other")
		f.change(policy.Change{Policy: "envoy.d.a", Fields: "token-bucket 7/1m burst 9"})
		f.want("OK: OK 8/7 9s", "a=1")
		f.change(policy.Change{Policy: "envoy.d.a", Fields: `{"shadow": true}`}, policy.Change{Policy: "envoy.d.s", Fields: `{"shadow": false}`})
		f.want(by("OVER_LIMIT: OVER_LIMIT 0/1 86400s, OK 0/3 60s", "OVER_LIMIT: OVER_LIMIT 1/1 86400s, OK 3/3 60s"), "s=1 x2", "a=9 x4")
		f.change(policy.Change{Policy: "envoy.d.a", Fields: `{"shadow": {"limit": 1}}`})
		f.operations = nil
		f.want("OK: OK 2/3 60s", "a=10")
		if len(f.operations) != 2 {
			t.Errorf("a candidate: operations %v", f.operations)
		}
		f.change(policy.Change{Policy: "envoy.d.a", Fields: `{"enabled": false}`})
		f.want("OK: OK unlimited", "a=10")
	}
}

// TestNamesOfPolicies checks that each rule with a limit has a policy name that shows its path.
func TestNamesOfPolicies(t *testing.T) {
	f := serving(t, Options{}, `
domain: d
descriptors:
  - {key: path, value: "/a b", rate_limit: {unit: day, requests_per_unit: 5}}
  - {key: path, value: "/a-b", rate_limit: {unit: day, requests_per_unit: 6}}
  - {key: x.y, rate_limit: {unit: day, requests_per_unit: 7}}
  - {key: x, descriptors: [{key: y, rate_limit: {unit: day, requests_per_unit: 8}}]}
  - {key: `+strings.Repeat("long", 20)+`, rate_limit: {unit: day, requests_per_unit: 9}}
  - {key: free, rate_limit: {unlimited: true}}
  - {key: none, rate_limit: {unit: second, requests_per_unit: 0}}
`)
	var names []string
	for _, m := range f.made {
		if err := engine.CheckPolicyName(m.Name); err != nil || m.Space != "envoy:d" {
			t.Errorf("%+v: %v", m, err)
		}
		names = append(names, m.Name+" "+m.Limit.String())
	}
	slices.Sort(names)
	want := []string{
		"envoy.d.none deny",
		"envoy.d.path_-a-b-",
		"envoy.d.path_-a-b-",
		"envoy.d.x.y",
		"envoy.d.x.y-",
		"envoy.d." + strings.Repeat("long", 20)[:47] + "-",
	}
	slices.Sort(want)
	if len(names) != len(want) {
		t.Fatal(names)
	}
	for i := range want {
		if !strings.HasPrefix(names[i], want[i]) {
			t.Errorf("%s, want %s…", names[i], want[i])
		}
	}
	if before := fmt.Sprint(f.made); fmt.Sprint(serving(t, Options{}, ruled).made) == before {
		t.Error("the policies are those of another configuration")
	}
}

// TestCounts checks which rule's policy counts a key. Rules with equal limits share the key's counter.
func TestCounts(t *testing.T) {
	f := serving(t, Options{}, `
domain: d
descriptors:
  - {key: a, detailed_metric: true, rate_limit: {unit: day, requests_per_unit: 5}, descriptors: [{key: b, rate_limit: {unit: day, requests_per_unit: 5}}]}
  - {key: a, value: "x,=y", rate_limit: {unit: day, requests_per_unit: 5}}
  - {key: a, value: "w*", share_threshold: true, rate_limit: {unit: day, requests_per_unit: 5}}
`)
	names := []string{}
	for _, p := range f.config.Load().Policies(policy.Deny) {
		names = append(names, p.Name)
	}
	for key, want := range map[string]int{"a=1": 0, "a=1,b=2": 1, `a=x\,\=y`: 2, "a=w*": 3} {
		for i, name := range names {
			if got := f.Counts(name, "envoy:d", key); got != (i == want) {
				t.Errorf("%s by %s: %t", key, name, got)
			}
		}
	}
	for _, c := range [][2]string{{"policy:api", "a=1"}, {"envoy:other", "a=1"}, {"envoy:d", "unknown=1"}, {"envoy:d", "hmac:0123"}, {"envoy:d", ""}} {
		if !f.Counts("api", c[0], c[1]) {
			t.Errorf("%s in %s is not counted", c[1], c[0])
		}
	}
	if s := f.Stats(); len(s.Rules) != 5 { // four rules, and overrides of requests
		t.Errorf("a question counts as a request: %+v", s.Rules)
	}
}
