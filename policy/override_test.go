package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
)

const plans = `
policies:
  minute: {algorithm: fixed-window, limit: 5, window: 1m}
  plan:   {all: [minute, {name: day, algorithm: fixed-window, limit: 50, window: 1d}]}
  team:   {all: [{name: pre, algorithm: fixed-window, limit: 9, window: 1h}, plan, {name: post, algorithm: fixed-window, limit: 8, window: 1h}]}
  quiet:  {all: [minute], shadow: true}
  off:    {all: [minute], enabled: false}
  idle:   {all: [off]}
  wide:   {all: [idle, {name: own, algorithm: fixed-window, limit: 7, window: 1h}]}
  last:   {all: [{name: own, algorithm: fixed-window, limit: 7, window: 1h}, idle]}
overrides:
  - {policy: plan, key: bad, deny: true}
  - {policy: plan, key: "vip-*", unlimited: true}
  - {policy: plan, key: vip-bad, deny: true}
  - {policy: minute, key: slow, set: {limit: 1}}
  - {policy: team, key: boss, unlimited: true}
  - {policy: plan, key: boss, deny: true}
  - {policy: quiet, key: bad, deny: true}
  - {policy: off, key: bad, deny: true}
  - {policy: idle, key: bad, deny: true}
  - {policy: last, key: bad, unlimited: true}
`

// TestOverridesOfPoliciesWithAll checks that a deny or unlimited override of a policy replaces all of that policy's
// limits, also where the policy is part of another policy's "all"; the other policy's own limits stay. If overrides of
// both policies match the key, the outer one applies.
func TestOverridesOfPoliciesWithAll(t *testing.T) {
	config, err := policy.Parse("plans.yaml", []byte(plans))
	if err != nil {
		t.Fatal(err)
	}
	const minute, day, pre, post = "fixed-window 5/1m", `fixed-window 50/1d name "day"`, `fixed-window 9/1h name "pre"`, `fixed-window 8/1h name "post"`
	for _, c := range []struct{ policy, key, want string }{
		{"plan", "k", minute + ", " + day},
		{"plan", "bad", "deny"},
		{"plan", "vip-1", "unlimited"},
		{"plan", "vip-bad", "deny"},
		{"plan", "slow", "fixed-window 1/1m, " + day},
		{"minute", "bad", minute},
		{"team", "k", pre + ", " + minute + ", " + day + ", " + post},
		{"team", "bad", pre + ", deny, " + post},
		{"team", "vip-1", pre + ", unlimited, " + post},
		{"team", "boss", "unlimited"},
		{"plan", "boss", "deny"},
		{"quiet", "bad", "deny (shadow)"},
		{"off", "bad", "unlimited"},
		{"idle", "bad", "deny"},
		{"idle", "k", "unlimited"},
		{"wide", "bad", `deny, fixed-window 7/1h name "own"`},
		{"last", "bad", "unlimited"},
		{"wide", "k", `fixed-window 7/1h name "own"`},
	} {
		if got := limits(t, config, c.policy, c.key); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.key, c.policy, got, c.want)
		}
	}
	for name, want := range map[string]string{
		"plan": "[{ bad deny} { boss deny} { vip-bad deny} { vip-* unlimited}]", "minute": "[{ slow fixed-window 1/1m}]",
		"team": "[{ boss unlimited}]", "idle": "[{ bad deny}]",
	} {
		p, _ := config.Policies.Get(name)
		if got := fmt.Sprint(p.Summary().Overrides); got != want || !p.HasOverrides() || p.Combined() != (name != "minute") {
			t.Errorf("overrides of %s: %s, want %s; any: %t, combined: %t", name, got, want, p.HasOverrides(), p.Combined())
		}
	}
	plan, _ := config.Policies.Get("plan")
	if rule, ok := plan.Charges(nil, "vip-9", 1)[0].Rule("vip-9"); !ok || rule != "vip-*" {
		t.Errorf("the override of vip-9 is %q (%t), want vip-*", rule, ok)
	}
	team, _ := config.Policies.Get("team")
	charge := team.Charges(nil, "bad", 3)[1]
	if charge.Policy != "plan" || charge.Owner != plan || charge.Space != "policy:plan" || !charge.Override || charge.Cost != 3 {
		t.Errorf("the charge of the override is %+v", charge)
	}
	if wide, _ := config.Policies.Get("wide"); !wide.HasOverrides() {
		t.Error("wide has no override, although one of idle applies to its keys")
	}
}

// TestDenyOfAllKeepsCounters (regression: bug 72) checks that a change that denies or allows all requests of a key,
// under a policy with several limits, does not affect counters: when the change ends, the key's counters continue, and
// the counters of other keys continue all the time.
func TestDenyOfAllKeepsCounters(t *testing.T) {
	config, err := policy.Parse("plans.yaml", []byte(plans))
	if err != nil {
		t.Fatal(err)
	}
	store := headgate.New()
	defer store.Close()
	remaining := func(c *policy.Config, key string, allowed bool) string {
		t.Helper()
		d, err := filelimit.New(c, store).Allow(t.Context(), "plan", key)
		if err != nil || d.Allowed != allowed {
			t.Fatalf("%s: %+v, %v; want allowed %t", key, d, err, allowed)
		}
		texts := []string{}
		for _, l := range d.Limits {
			texts = append(texts, fmt.Sprint(l.Remaining))
		}
		return strings.Join(texts, " ")
	}
	want := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("remaining %s, want %s", got, want)
		}
	}
	want(remaining(config, "flood", true), "4 49")
	want(remaining(config, "other", true), "4 49")
	for _, fields := range []string{`{"deny":true}`, `{"unlimited":true}`} {
		changed, left := config.With([]policy.Change{{Policy: "plan", Key: "flood", Fields: fields}})
		if len(left) > 0 {
			t.Fatal(left)
		}
		for range 7 {
			remaining(changed, "flood", fields == `{"unlimited":true}`)
		}
		remaining(changed, "other", true)
	}
	want(remaining(config, "flood", true), "3 48")
	want(remaining(config, "other", true), "1 46")
}

// An override of a whole policy with several limits cannot set a limit, because the limit is meant for only one of
// them. The error explains where it belongs.
func TestChangeOfOneOfSeveralLimits(t *testing.T) {
	config, err := policy.Parse("plans.yaml", []byte(plans))
	if err != nil {
		t.Fatal(err)
	}
	_, left := config.With([]policy.Change{{Policy: "plan", Key: "flood", Fields: `{"set":{"limit":1}}`}})
	if left[0] == nil || !strings.Contains(left[0].Error(), "accepted: deny: true or unlimited: true for a policy with all or first; set is for the policies that it names") {
		t.Errorf("%v, want an error that names deny and unlimited", left)
	}
}

// A route is checked against the limits that apply to keys without an override, even if there is an override for *.
func TestRouteLimitsWithoutOverrides(t *testing.T) {
	var limits []string
	for i := range 32 {
		limits = append(limits, fmt.Sprintf("{algorithm: fixed-window, limit: %d, window: 1h}", i+1))
	}
	_, err := policy.Parse("x.yaml", []byte("policies: {many: {all: ["+strings.Join(limits, ", ")+"]}, one: 5/s}\n"+
		"overrides: [{policy: many, key: \"*\", deny: true}]\nroutes: [{key: [client_ip], policies: [many, one]}]\n"))
	if err == nil || !strings.Contains(err.Error(), "33 limits") {
		t.Errorf("%v, want an error about 33 limits", err)
	}
}

// TestLimitsOfAPlan checks overrides of one limit of a policy with "all". An override for an exact key or a pattern
// also applies where another policy's "all" includes the policy. A policy under "all" is overridden under its own name.
// An override of the whole policy cannot set a limit.
func TestLimitsOfAPlan(t *testing.T) {
	file, err := policy.Parse("plans.yaml", []byte(strings.Replace(plans, "overrides:", "  free: {all: [fixed-window 9/1m, {name: day, algorithm: fixed-window, limit: 90, window: 1d}]}\noverrides:", 1)+`
  - {policy: plan/day, key: "big-*", set: {limit: 500}}
  - {policy: plan/minute, key: rare, set: {limit: 2}}
`))
	if err != nil {
		t.Fatal(err)
	}
	config, left := file.With([]policy.Change{
		{Policy: "free/1", Key: "acme", Fields: `"1/1m"`},
		{Policy: "free/day", Key: "acme", Fields: "fixed-window 5/1d"},
		{Policy: "free/day", Key: "none", Fields: `"deny"`},
		{Policy: "free/hour", Key: "acme", Fields: `"1/1m"`},
		{Policy: "minute/default", Key: "acme", Fields: `"1/1m"`},
		{Policy: "free", Key: "acme", Fields: `"1/1m"`},
	})
	for i, want := range map[int]string{3: "accepted: free/1, free/day", 4: "without a limit, because it has one", 5: "such as free/1"} {
		if left[i] == nil || !strings.Contains(left[i].Error(), want) {
			t.Errorf("change %d: %v, want %s", i, left[i], want)
		}
	}
	const minute, day = "fixed-window 5/1m", `fixed-window 50/1d name "day"`
	for _, c := range []struct{ policy, key, want string }{
		{"plan", "big-1", minute + `, fixed-window 500/1d name "day"`},
		{"team", "big-1", `fixed-window 9/1h name "pre", ` + minute + `, fixed-window 500/1d name "day", fixed-window 8/1h name "post"`},
		{"plan", "rare", "fixed-window 2/1m, " + day},
		{"minute", "rare", "fixed-window 2/1m"},
		{"free", "acme", `fixed-window 1/1m name "1", fixed-window 5/1d name "day"`},
		{"free", "none", `fixed-window 9/1m name "1", deny`},
	} {
		if got := limits(t, config, c.policy, c.key); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.key, c.policy, got, c.want)
		}
	}
	free, _ := config.Policies.Get("free")
	if got := fmt.Sprint(free.Summary().Overrides); got != `[{1 acme fixed-window 1/1m name "1"} {day acme fixed-window 5/1d name "day"} {day none deny}]` || !free.HasOverrides() {
		t.Errorf("%s", got)
	}
	charge := free.Charges(nil, "acme", 1)[1]
	if rule, _ := charge.Rule("acme"); rule != "acme" || charge.Target != "free/day" {
		t.Errorf("%q of %s", rule, charge.Target)
	}
}

// TestAnchorOfAKey checks that an override can set a key's billing day, and that a window of one hour accepts no
// anchor.
func TestAnchorOfAKey(t *testing.T) {
	config, err := policy.Parse("p.yaml", []byte(`
policies:
  monthly: {algorithm: fixed-window, limit: 1000000, window: 1mo, align: Europe/Paris}
overrides:
  - {policy: monthly, key: acme, set: {anchor: 2026-01-31}}
  - {policy: monthly, key: late, set: {anchor: "2026-01-15T17:30"}}
`))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := config.Policies.Get("monthly")
	for key, want := range map[string]string{
		"anyone": "1000000/1mo align Europe/Paris",
		"acme":   "1000000/1mo align Europe/Paris anchor 2026-01-31",
		"late":   "1000000/1mo align Europe/Paris anchor 2026-01-15T17:30",
	} {
		if got := p.Charges(nil, key, 1)[0].Limit.String(); !strings.HasSuffix(got, want) {
			t.Errorf("%s has %s, want %s", key, got, want)
		}
	}
	_, err = policy.Parse("p.yaml", []byte(`policies: {hourly: {algorithm: fixed-window, limit: 5, window: 1h, align: UTC, anchor: 2026-01-31}}`))
	if err == nil || !strings.Contains(err.Error(), "anchor is \"2026-01-31\"; accepted: a date such as") {
		t.Error(err)
	}
}
