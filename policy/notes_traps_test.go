package policy_test

import (
	"strings"
	"testing"

	"github.com/headgate/headgate/policy"
)

// TestTraps checks the notes about routes that take requests away from a wider limit, about keys that can be equal, and
// about shares that refill slowly, and that files without these traps have none.
func TestTraps(t *testing.T) {
	const (
		taken    = "route 0 does not count its requests under all of route 1"
		equal    = "equal texts are one key"
		slow     = "a server that starts while the store is unavailable denies policy "
		policies = "policies: {login: 5/s, all: 100/s, both: {all: [login, all]}}\n"
	)
	for _, c := range []struct{ text, want string }{
		{policies + "routes: [{match: {path: /login}, key: [client_ip], policies: [login]}, {key: [client_ip], policies: [all]}]", taken},
		{policies + "routes: [{match: {path: /login}, key: [client_ip], policies: [login]}, {key: [client_ip], policies: [both]}]", strings.Replace(taken, "all of", "both of", 1)},
		{policies + "routes: [{match: {path: /login}, key: [client_ip], policies: [login, all]}, {key: [client_ip], policies: [all]}]", ""},
		{policies + "routes: [{match: {path: /login}, key: [client_ip], policies: [both]}, {key: [client_ip], policies: [all]}]", ""},
		{policies + "routes: [{match: {path: /login}, key: [client_ip], policies: [login]}, {match: {path: /x}, key: [client_ip], policies: [all]}]", ""},

		{policies + "routes: [{match: {path: '/{id}'}, key: [{path: id}], policies: [all]}, {key: [{header: X-User}], policies: [all]}]", equal},
		{policies + "routes: [{match: {path: /a}, key: [{const: total}], policies: [all]}, {key: [{header: X-User}], policies: [all]}]", equal},
		{policies + "routes: [{match: {path: /a}, key: [{const: a}, {query: u}], policies: [all]}, {key: [{const: b}, {header: X-User}], policies: [all]}]", ""},
		{policies + "routes: [{match: {path: /a}, key: [{header: X-User}], policies: [all]}, {key: [{header: X-User}], policies: [all]}]", ""},
		{policies + "routes: [{match: {path: /a}, key: [{header: X-User}, client_ip], policies: [all]}, {key: [{header: X-User}], policies: [all]}]", ""},

		{"policies: {quota: {algorithm: fixed-window, limit: 10, window: 1d}}", slow + "quota for up to 7h12m, because one of 3 shares"},
		{"policies: {quota: {algorithm: fixed-window, limit: 10, window: 1d, failure: allow}}", ""},
		{"policies: {quota: {algorithm: fixed-window, limit: 10000, window: 1d}}", ""},
	} {
		config, err := policy.Parse("x.yaml", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, note := range append(config.Notes(), config.ShareNotes(3)...) {
			if strings.Contains(note, "does not count its requests") || strings.Contains(note, equal) || strings.HasPrefix(note, slow) {
				found = append(found, note)
			}
		}
		if got := strings.Join(found, "\n"); c.want == "" && got != "" || !strings.Contains(got, c.want) || len(found) > 1 {
			t.Errorf("%s:\n%s\nwant %q", c.text, got, c.want)
		}
	}
}

// TestConditionsThatDoNotHold checks the notes about conditions on headers under names that no request has there, on texts
// that a variable never has, and on sizes that a client need not state (regression: bugs 229, 252).
func TestConditionsThatDoNotHold(t *testing.T) {
	for when, want := range map[string]string{
		`request.headers["X-Plan"] == "free"`:                                         `route 0 reads request.headers["X-Plan"], `,
		`"X-Plan" in request.headers && request.headers['X-Plan'] == 'free'`:          `route 0 reads request.headers["X-Plan"], `,
		`request.headers.Plan == "free"`:                                              `route 0 reads request.headers["Plan"], `,
		`request.headers["host"] == "h"`:                                              `route 0 reads request.headers["host"], `,
		`"x-plan" in request.headers && request.headers["x-plan"] != "X-Plan"`:        "",
		`request.query["Plan"] == "Free" && request.headers["x_plan"] == "Host"`:      "",
		`request.method == "post"`:                                                    `route 0 compares request.method with "post", `,
		`request.host != 'API.example.com:8080'`:                                      `route 0 compares request.host with "API.example.com:8080", `,
		`request.path == "/login/"`:                                                   `route 0 compares request.path with "/login/", `,
		`request.method == "POST" && request.host == "h" && request.path == "/Login"`: "",
		`request.size > 1000000`:                                                      `route 0 does not match a chunked body, `,
		`1000 <= request.size && request.size < 2000`:                                 `route 0 does not match a chunked body, `,
		`request.size > 1000000 || request.size < 0`:                                  "",
		`request.size == -1 || request.size >= 1000000`:                               "",
		`request.size < 1000`:                                                         "",
		`request.size >= 0`:                                                           "",
	} {
		config, err := policy.Parse("x.yaml", []byte("policies: {all: 100/s}\nroutes:\n- match:\n    when: |-\n      "+when+"\n  key: [client_ip]\n  policies: [all]"))
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(config.Notes(), "\n"); notes != "" && want == "" || !strings.HasPrefix(notes, want) || strings.Count(notes, "\n") > 0 {
			t.Errorf("%s: %q, want %q", when, notes, want)
		}
	}
}

// TestFreeCharges checks the notes about charges of 0 units (regression: bug 257).
func TestFreeCharges(t *testing.T) {
	const free = "route 0 charges policy free 0 units"
	for route, want := range map[string]string{
		"key: [client_ip], policies: [all, free]":                                                free,
		"key: [client_ip], policies: [all], cost: 0":                                             "route 0 charges policy all 0 units",
		"charge: [{key: [client_ip], policy: all}, {key: [{header: A}], policy: free}]":          free,
		"key: [client_ip], policies: [free], cost: 2":                                            "",
		"key: [client_ip], policies: [free], cost: {header: X-Cost, max: 9}":                     "",
		"charge: [{key: [client_ip], policy: all}, {key: [{header: A}], policy: free, cost: 1}]": "",
	} {
		config, err := policy.Parse("x.yaml", []byte("policies: {all: 100/s, free: {algorithm: token-bucket, rate: 5/s, cost: 0}}\nroutes: [{"+route+"}]"))
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(config.Notes(), "\n"); strings.Contains(notes, "0 units") != (want != "") || !strings.Contains(notes, want) {
			t.Errorf("%s: %q, want %q", route, notes, want)
		}
	}
}

// TestOpenDoors checks the notes about trusted proxies among which are clients, and about segments that match no request
// (regression: bug 198).
func TestOpenDoors(t *testing.T) {
	const (
		claim   = "so a client can claim any address"
		literal = "which matches only this text"
		before  = "policies: {all: 100/s}\n"
		after   = "\nroutes: [{match: {path: '/users/{id}/:x'}, key: [{header: X-User}], policies: [all]}]"
	)
	for _, c := range []struct{ text, part, want string }{
		{"trusted_proxies: [0.0.0.0/0]", claim, "trusted_proxies has 0.0.0.0/0, "},
		{"trusted_proxies: [10.0.0.0/8, 128.0.0.0/1]", claim, "trusted_proxies has 128.0.0.0/1, "},
		{"trusted_proxies: ['::/0']", claim, "trusted_proxies has ::/0, "},
		{"trusted_proxies: [10.0.0.0/8, 'fc00::/7', 192.0.2.1]", claim, ""},
		{"", literal, "route 0 has the segment :x, "},
	} {
		config, err := policy.Parse("x.yaml", []byte(before+c.text+after))
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, note := range config.Notes() {
			if strings.Contains(note, c.part) {
				found = append(found, note)
			}
		}
		if got := strings.Join(found, "\n"); len(found) > 1 || (c.want == "") != (got == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
	for _, path := range []string{"/users/<id>", "/users/([0-9]+)", "/users/[0-9]+", "/^users$"} {
		config, err := policy.Parse("x.yaml", []byte(before+"routes: [{match: {path: '"+path+"'}, key: [client_ip], policies: [all]}]"))
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(config.Notes(), "\n"); !strings.Contains(notes, literal) {
			t.Errorf("%s: %q", path, notes)
		}
	}
}
