package policy_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"testing"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
)

const classFile = `
policies:
  api: {algorithm: fixed-window, limit: 10, window: 1m, classes: [{name: live}, {name: batch, leaves: 30%}]}
overrides:
  - {policy: api, key: nightly, class: batch}
  - {policy: api, key: "vip-*", class: live, set: {limit: 100}}
trusted_proxies: [10.0.0.0/8]
routes:
  - {match: {path: /fixed}, key: [{header: X-Key}], policies: [api], class: live}
  - {key: [{header: X-Key}], policies: [api], class: {header: X-Class}}
`

func explained(t *testing.T, c *policy.Config, path, peer, key, class string) policy.LimitSummary {
	t.Helper()
	e := c.Explain(&route.Request{
		Method: http.MethodGet, Host: "h", Path: path, Peer: netip.MustParseAddr(peer),
		Header: http.Header{"X-Key": {key}, "X-Class": {class}},
	})
	if len(e.Charges) != 1 || len(e.Charges[0].Limits) != 1 {
		t.Fatalf("%+v", e)
	}
	return e.Charges[0].Limits[0]
}

// TestClassOfARequest checks that a key's own class takes precedence over the class from the route, and that the
// route's header counts only from trusted proxies. A request without a known class is in the last class.
func TestClassOfARequest(t *testing.T) {
	c, err := policy.Parse("x.yaml", []byte(classFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct{ path, peer, key, class, want, limit string }{
		{"/fixed", "192.0.2.1", "ann", "batch", "live", "fixed-window 10/1m"},
		{"/", "10.0.0.1", "ann", "live", "live", "fixed-window 10/1m"},
		{"/", "192.0.2.1", "ann", "live", "batch", "fixed-window 7/1m"},
		{"/", "10.0.0.1", "ann", "", "batch", "fixed-window 7/1m"},
		{"/", "10.0.0.1", "ann", "made-up", "batch", "fixed-window 7/1m"},
		{"/fixed", "10.0.0.1", "nightly", "live", "batch", "fixed-window 7/1m"},
		{"/", "10.0.0.1", "vip-1", "batch", "live", "fixed-window 100/1m"},
	} {
		if l := explained(t, c, s.path, s.peer, s.key, s.class); l.Class != s.want || l.Limit != s.limit {
			t.Errorf("%s %s %s %q: %+v, want %s and %s", s.path, s.peer, s.key, s.class, l, s.want, s.limit)
		}
	}
}

// TestClassesOfAKey checks that a key with its own class can only be in that class.
func TestClassesOfAKey(t *testing.T) {
	c, err := policy.Parse("x.yaml", []byte(classFile))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := c.Policies.Get("api")
	for key, want := range map[string]string{
		"ann": " live=fixed-window 10/1m batch=fixed-window 7/1m", "nightly": " batch=fixed-window 7/1m", "vip-1": " live=fixed-window 100/1m",
	} {
		got := ""
		charge := p.Charges(nil, key, 1)[0]
		for _, in := range charge.InClasses(key) {
			got += " " + in.Class + "=" + in.Limit.String()
		}
		if got != want {
			t.Errorf("%s:%s, want%s", key, got, want)
		}
	}
}

// TestPenaltyHasNoClasses checks that a penalty has no limits by class, because it blocks a key in all classes.
func TestPenaltyHasNoClasses(t *testing.T) {
	c, err := policy.Parse("x.yaml", []byte("policies: {api: {classes: [{name: live}, {name: batch, leaves: 10%}], all: [10/1m, {algorithm: penalty, limit: 10, window: 1m}]}}"))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := c.Policies.Get("api")
	for i, charge := range p.Charges(nil, "ann", 1) {
		if n := len(charge.InClasses("ann")); n != []int{2, 0}[i] {
			t.Errorf("%s has %d classes", charge.Limit, n)
		}
	}
}

// TestChangeOfAClass checks that an operator's change can assign a class to a key, and that a change to the limit also
// changes the limits of the classes.
func TestChangeOfAClass(t *testing.T) {
	c, err := policy.Parse("x.yaml", []byte(classFile))
	if err != nil {
		t.Fatal(err)
	}
	c, left := c.With([]policy.Change{
		{Policy: "api", Key: "ann", Fields: `{"class":"batch"}`},
		{Policy: "api", Fields: `{"limit":20}`},
	})
	for i, err := range left {
		t.Errorf("change %d: %v", i, err)
	}
	if l := explained(t, c, "/fixed", "192.0.2.1", "ann", ""); l.Limit != "fixed-window 14/1m" {
		t.Errorf("%+v", l)
	}
}

// TestLeavesOfAFairShare checks that the leaves of classes are computed from the whole burst of a fair share, here 20
// units, although a single key can use only half of the burst. At least 10 units must remain for each class.
func TestLeavesOfAFairShare(t *testing.T) {
	for _, c := range []struct{ first, second, want string }{
		{"8", "45%", ""},
		{"45%", "8", `x.yaml:2:107: policies.api.classes.2.leaves: leaves is 8 after 45%; accepted: as much as the class before it leaves, or more`},
		{"8", "11", `x.yaml:2:105: policies.api.classes.2.leaves: leaves is 11 of fair-share 20/s; accepted: less than 11 units, so that the class has 10`},
	} {
		file := fmt.Sprintf("policies:\n  api: {algorithm: fair-share, rate: 20/s, classes: [{name: z}, {name: a, leaves: %s}, {name: b, leaves: %s}]}\n", c.first, c.second)
		_, err := policy.Parse("x.yaml", []byte(file))
		if got := fmt.Sprint(err); err == nil && c.want != "" || err != nil && got != c.want {
			t.Errorf("%s, %s: %v; want %q", c.first, c.second, err, c.want)
		}
	}
}

// TestDeniedKeyOfAPolicyWithClasses checks that deny and unlimited overrides work in a policy with classes. Such
// overrides have no capacity, so leaves do not apply to them.
func TestDeniedKeyOfAPolicyWithClasses(t *testing.T) {
	const file = "policies:\n  b: {algorithm: token-bucket, rate: 40/s, classes: [{name: paid}, {name: free, leaves: 5}, {name: batch, leaves: 50%}]}\n" +
		"overrides: [{policy: b, key: d, deny: true}, {policy: b, key: u, unlimited: true}]\n"
	if _, err := policy.Parse("x.yaml", []byte(file)); err != nil {
		t.Error(err)
	}
}

// TestWeightWithoutFairShare checks that a weight is an error without a fair share, and that the error contains the
// path of the field only once.
func TestWeightWithoutFairShare(t *testing.T) {
	_, err := policy.Parse("x.yaml", []byte("policies: {a: {algorithm: token-bucket, rate: 10/s, classes: [{name: p, weight: 2}]}}"))
	const want = "x.yaml:1:81: policies.a.classes.0.weight: weight is 2; accepted: none on a policy without a limit that divides its units among keys, such as fair-share"
	if fmt.Sprint(err) != want {
		t.Errorf("%v; want %s", err, want)
	}
}
