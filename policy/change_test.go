package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headgate/headgate/policy"
)

const base = `
policies:
  api:   {algorithm: token-bucket, rate: 100/s, burst: 200, failure: allow}
  text:  10/m
  slide: {algorithm: sliding-window, limit: 10, window: 1m, segments: 6, variant: weighted}
  both:  {all: [api, {name: total, algorithm: fixed-window, limit: 1000, window: 1d}]}
overrides:
  - {policy: api, key: partner-1, set: {rate: 300/s}}
`

func limits(t *testing.T, c *policy.Config, name, key string) string {
	t.Helper()
	p, ok := c.Policies.Get(name)
	if !ok {
		return "none"
	}
	texts := []string{}
	for _, charge := range p.Charges(nil, key, 1) {
		text := charge.Limit.String()
		if charge.Shadow {
			text += " (shadow)"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// A change replaces only the fields that it sets, also as text, or the whole limit if it sets another algorithm, deny,
// unlimited, all or first. Other fields keep their values from the file (regression: bug 182).
func TestChanges(t *testing.T) {
	config, err := policy.Parse("base.yaml", []byte(base))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		changes   []policy.Change
		name, key string
		want      string
	}{
		{nil, "api", "k", "100/s burst 200"},
		{[]policy.Change{{Policy: "api", Fields: `{"rate":"50/s"}`}}, "api", "k", "50/s burst 200"},
		{[]policy.Change{{Policy: "api", Fields: `{"rate":"50/s"}`}}, "api", "partner-1", "300/s burst 200"},
		{[]policy.Change{{Policy: "api", Fields: `{"rate":"50/s"}`}}, "both", "k", "50/s burst 200, fixed-window 1000/1d name \"total\""},
		{[]policy.Change{{Policy: "api", Fields: `{"shadow":true}`}}, "api", "k", "100/s burst 200 (shadow)"},
		{[]policy.Change{{Policy: "api", Fields: `{"shadow":{"rate":"50/s"}}`}}, "api", "k", "100/s burst 200, 50/s burst 200 (shadow)"},
		{[]policy.Change{{Policy: "api", Fields: `{"shadow":"50/s"}`}}, "api", "k", "100/s burst 200, 50/s (shadow)"},
		{[]policy.Change{{Policy: "api", Fields: `{"shadow":{"algorithm":"fixed-window","limit":5,"window":"1m"}}`}}, "api", "k", "100/s burst 200, fixed-window 5/1m (shadow)"},
		{[]policy.Change{{Policy: "api", Fields: `{"shadow":{"deny":true}}`}}, "api", "k", "100/s burst 200, deny (shadow)"},
		{[]policy.Change{{Policy: "text", Fields: `{"shadow":"9/m"}`}}, "text", "k", "10/1m, 9/1m (shadow)"},
		{[]policy.Change{{Policy: "api", Fields: `{"shadow":{"rate":"50/s"}}`}, {Policy: "api", Fields: `{"shadow":false}`}}, "api", "k", "100/s burst 200"},
		{[]policy.Change{{Policy: "api", Fields: `"7/s"`}}, "api", "k", "7/s burst 200"},
		{[]policy.Change{{Policy: "api", Fields: `"token-bucket 30/1m debt 5"`}}, "api", "k", "30/1m burst 200 debt 5"},
		{[]policy.Change{{Policy: "api", Fields: `"pacer 7/s max_wait 1s"`}}, "api", "k", "pacer 7/s max_wait 1s"},
		{[]policy.Change{{Policy: "api", Fields: `"7/s max_wait 1s"`}}, "api", "k", "pacer 7/s max_wait 1s"},
		{[]policy.Change{{Policy: "slide", Fields: `"30/1m"`}}, "slide", "k", "sliding-window 30/1m segments 6 weighted"},
		{[]policy.Change{{Policy: "slide", Fields: `"5/1m 50/1h segment 1m strict"`}}, "slide", "k", "sliding-window 5/1m 50/1h segment 1m strict"},
		{[]policy.Change{{Policy: "slide", Key: "k", Fields: `"30/1m"`}}, "slide", "k", "sliding-window 30/1m segments 6 weighted"},
		{[]policy.Change{{Policy: "api", Fields: `{"algorithm":"fixed-window","limit":5,"window":"1m"}`}}, "api", "k", "fixed-window 5/1m"},
		{[]policy.Change{{Policy: "api", Fields: `{"deny":true}`}}, "api", "k", "deny"},
		{[]policy.Change{{Policy: "api", Fields: `{"deny":true}`}}, "api", "partner-1", "300/s burst 200"},
		{[]policy.Change{{Policy: "api", Fields: `{"rate":"50/s"}`}, {Policy: "api", Fields: `"7/s"`}}, "api", "partner-1", "300/s burst 200"},
		{[]policy.Change{{Policy: "api", Fields: `{"enabled":false}`}}, "api", "k", "unlimited"},
		{[]policy.Change{{Policy: "text", Fields: `"20/m"`}}, "text", "k", "20/1m"},
		{[]policy.Change{{Policy: "new", Fields: `"3/s"`}}, "new", "k", "3/s"},
		{[]policy.Change{{Policy: "api", Key: "partner-7", Fields: `{"set":{"rate":"1000/s"}}`}}, "api", "partner-7", "1000/s burst 200"},
		{[]policy.Change{{Policy: "api", Key: "partner-1", Fields: `{"deny":true}`}}, "api", "partner-1", "deny"},
		{[]policy.Change{{Policy: "api", Key: "partner-*", Fields: `{"unlimited":true}`}}, "api", "partner-9", "unlimited"},
		{[]policy.Change{{Policy: "api", Fields: `{"rate":"50/s"}`}, {Policy: "api", Fields: `{"burst":70}`}}, "api", "k", "50/s burst 70"},
		{[]policy.Change{{Policy: "both/api", Key: "k", Fields: `"7/s"`}, {Policy: "api", Key: "k", Fields: `"8/s"`}}, "api", "k", "8/s burst 200"},
		{[]policy.Change{{Policy: "both/api", Key: "partner-1", Fields: `"7/s"`}}, "api", "partner-1", "7/s burst 200"},
	} {
		changed, left := config.With(c.changes)
		if len(left) != 0 {
			t.Errorf("%v: %v", c.changes, left)
		}
		if got := limits(t, changed, c.name, c.key); got != c.want {
			t.Errorf("%v: %s of %s is %s, want %s", c.changes, c.name, c.key, got, c.want)
		}
		if got := limits(t, config, "api", "k"); got != "100/s burst 200" {
			t.Fatalf("%v changed the file's own policy to %s", c.changes, got)
		}
	}
	changed, _ := config.With([]policy.Change{{Policy: "api", Fields: `{"rate":"50/s"}`}})
	if p, _ := changed.Policies.Get("api"); p.Failure != policy.Allow {
		t.Error("a change of the rate changed the failure mode")
	}
}

// Regression: bug 123. A change sets each setting of a policy that the file has, and keeps the others.
func TestChangeOfEachSetting(t *testing.T) {
	config, err := policy.Parse("x.yaml", []byte(`policies: {api: {algorithm: token-bucket, rate: 100/s, burst: 200, classes: [{name: a}, {name: b, leaves: 10%}], unit: calls}}`))
	if err != nil {
		t.Fatal(err)
	}
	for fields, want := range map[string]string{
		`{"classes": [{"name": "a"}, {"name": "c", "leaves": "50%"}]}`: "unit calls, classes a, c leaves 50%",
		`{"failure": "deny"}`:                              "failure deny, unit calls, classes a, b leaves 10%",
		`{"mode": "leased"}`:                               "mode leased, unit calls, classes a, b leaves 10%",
		`{"headers": "off"}`:                               "headers off, unit calls, classes a, b leaves 10%",
		`{"cost": 7}`:                                      "cost 7, unit calls, classes a, b leaves 10%",
		`{"unit": "tokens"}`:                               "unit tokens, classes a, b leaves 10%",
		`{"estimate_max": "capacity"}`:                     "unit calls, classes a, b leaves 10%, estimate_max capacity",
		`{"settle_within": "10m", "unsettled": "release"}`: "unit calls, classes a, b leaves 10%, settle_within 10m, unsettled release",
		`{"shadow": true}`:                                 "unit calls, classes a, b leaves 10%, shadow",
		`{"shadow": {"burst": 7}}`:                         "unit calls, classes a, b leaves 10%, candidate 100/s burst 7",
		`{"enabled": false}`:                               "unit calls, classes a, b leaves 10%, not enabled",
	} {
		changed, left := config.With([]policy.Change{{Policy: "api", Fields: fields}})
		if len(left) > 0 {
			t.Errorf("%s: %v", fields, left)
			continue
		}
		p, _ := changed.Policies.Get("api")
		s := p.Summary()
		if got := strings.Join(policy.NonDefaults(&s.Settings), ", "); got != want {
			t.Errorf("%s: %s, want %s", fields, got, want)
		}
	}
}

// An invalid change is skipped and reported. The other changes apply.
func TestChangesThatCannotApply(t *testing.T) {
	config, err := policy.Parse("base.yaml", []byte(base))
	if err != nil {
		t.Fatal(err)
	}
	changes := make([]policy.Change, 100)
	for i := range changes {
		changes[i] = policy.Change{Policy: fmt.Sprint("p", i), Fields: `"5/s"`}
	}
	for i, c := range map[int]struct {
		change policy.Change
		want   string
	}{
		3:  {policy.Change{Policy: "api", Fields: `{"rate":"fast"}`}, "rate"},
		17: {policy.Change{Policy: "api", Fields: `{"brust":5}`}, "brust"},
		40: {policy.Change{Policy: "missing", Key: "k", Fields: `{"deny":true}`}, "policy"},
		41: {policy.Change{Policy: "api", Key: "k", Fields: `{}`}, "set"},
		43: {policy.Change{Policy: "api", Key: "k", Fields: `"fast"`}, `"fast"`},
		42: {policy.Change{Policy: "a b", Fields: `"1/s"`}, "policy name"},
		77: {policy.Change{Policy: "both", Fields: `{"all":["nowhere"]}`}, "nowhere"},
		98: {policy.Change{Policy: "api", Key: strings.Repeat("k", 1025), Fields: `{"deny":true}`}, "key"},
		50: {policy.Change{Policy: "api", Fields: `{}`}, "at least one field"},
		51: {policy.Change{Policy: "api", Fields: ``}, "at least one field"},
		57: {policy.Change{Policy: "api", Fields: `null`}, "at least one field"},
		58: {policy.Change{Policy: "api", Key: "k", Fields: `null`}, "at least one field"},
		52: {policy.Change{Policy: "api", Fields: `{"name":"x","rate":"5/s"}`}, "name only with algorithm"},
		53: {policy.Change{Policy: "api", Key: "k", Fields: `{"set":{"name":"x","rate":"5/s"}}`}, "no name"},
		54: {policy.Change{Policy: "api", Fields: `"unlimited 5/s"`}, "unlimited alone"},
		55: {policy.Change{Policy: "api", Fields: `{"all":["5/1m"]}`}, `the override of policy "api", key "partner-1" does not fit`},
		56: {policy.Change{Policy: "apj", Fields: `{"rate":"5/s"}`}, `policy is "apj"; did you mean "api"? accepted: a policy of the file`},
		99: {policy.Change{Policy: "api", Fields: strings.Repeat(" ", 1<<16) + `"1/s"`}, "64 KiB"},
	} {
		changes[i] = c.change
		_, left := config.With([]policy.Change{c.change})
		if len(left) != 1 || left[0] == nil || !strings.Contains(left[0].Error(), c.want) {
			t.Errorf("%s %s: %v, want an error about %s", c.change.String(), c.change.Fields[:min(40, len(c.change.Fields))], left, c.want)
		}
	}
	changed, left := config.With(changes)
	if len(left) != 18 {
		t.Errorf("%d were left out, want 18: %v", len(left), left)
	}
	if n := len(changed.Policies.Names()); n != 4+82 {
		t.Errorf("%d policies, want 86", n)
	}
}

// Regression: bug 52. Whatever the order of the changes, a change to a key applies to the policy as changed. An
// override in the file applies to the limit in the file.
func TestChangeUnderOverrides(t *testing.T) {
	c, err := policy.Parse("p.yaml", []byte(`{policies: {api: 100/s burst 200}, overrides: [{policy: api, key: ann, set: {burst: 9}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	of := []policy.Change{{Policy: "api", Key: "joe", Fields: `{"set":{"burst":7}}`}, {Policy: "api", Fields: `{"algorithm":"token-bucket","rate":"5/1h","burst":60}`}}
	for range 2 {
		changed, left := c.With(of)
		if len(left) > 0 {
			t.Fatal(left)
		}
		for key, want := range map[string]string{"joe": "5/1h burst 7", "ann": "100/s burst 9", "eve": "5/1h burst 60"} {
			if got := limits(t, changed, "api", key); got != want {
				t.Errorf("%s has %s, want %s", key, got, want)
			}
		}
		slices.Reverse(of)
	}
}

// Regression: bug 52. Fields that an override, a change or a candidate does not set, including the name, come from the
// policy's text.
func TestFieldsOfTextPolicy(t *testing.T) {
	file := `
policies: {api: "100/s burst 200", named: '10/1m name "calls"', day: 1000/1d align clock, two: "sliding-log 5/1m 50/1h", held: "concurrency 10 lease 30s", no: deny}
overrides:
  - {policy: api, key: joe, set: {rate: 5/s}}
  - {policy: named, key: joe, set: {algorithm: fixed-window, limit: 3, window: 1h}}
  - {policy: day, key: joe, set: {limit: 10}}
  - {policy: two, key: joe, set: {windows: [{limit: 9, window: 1m}]}}
  - {policy: held, key: joe, set: {limit: 3}}
`
	c, err := policy.Parse("p.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"api": "5/s burst 200", "named": `fixed-window 3/1h name "calls"`, "day": "fixed-window 10/1d align clock",
		"two": "sliding-log 9/1m", "held": "concurrency 3 lease 30s",
	} {
		p, _ := c.Policies.Get(name)
		if s := p.Summary(); len(s.Overrides) != 1 || s.Overrides[0].Limit != want {
			t.Errorf("%s: %v, want %s", name, s.Overrides, want)
		}
	}
	for _, change := range []struct {
		policy, fields, limit, candidate string
	}{
		{"api", `{"rate":"50/s"}`, "50/s burst 200", ""},
		{"api", `{"algorithm":"token-bucket","rate":"50/s"}`, "50/s", ""},
		{"named", `"7/m"`, `7/1m name "calls"`, ""},
		{"named", `{"deny":true}`, "deny", ""},
		{"api", `{"algorithm":"pacer","rate":"50/s","max_wait":"1s"}`, "pacer 50/s max_wait 1s", ""},
		{"api", `{"shadow":{"rate":"50/s"}}`, "100/s burst 200", "50/s burst 200"},
		{"named", `{"burst":7}`, `10/1m burst 7 name "calls"`, ""},
		{"named", `{"cost":2}`, `10/1m name "calls"`, ""},
		{"day", `{"limit":7}`, "fixed-window 7/1d align clock", ""},
		{"two", `{"count_denied":true}`, "sliding-log 5/1m 50/1h count_denied", ""},
		{"held", `{"lease":"1m"}`, "concurrency 10 lease 1m", ""},
	} {
		changed, left := c.With([]policy.Change{{Policy: change.policy, Fields: change.fields}})
		if len(left) > 0 {
			t.Errorf("%s %s: %v", change.policy, change.fields, left)
			continue
		}
		p, _ := changed.Policies.Get(change.policy)
		if s := p.Summary(); len(s.Limits) != 1 || s.Limits[0] != change.limit || s.Candidate != change.candidate {
			t.Errorf("%s %s: %v beside %q, want %s beside %q", change.policy, change.fields, s.Limits, s.Candidate, change.limit, change.candidate)
		}
	}
	if _, left := c.With([]policy.Change{{Policy: "no", Fields: `{"rate":"5/s"}`}}); left[0] == nil {
		t.Error("a rate beside deny was taken")
	}
}
