package policy_test

import (
	"strings"
	"testing"

	"github.com/headgate/headgate/policy"
)

// TestRoutesWithoutEffect checks that there are notes for hidden routes, for keys that no request has and for policies
// that no route names, but for nothing else.
func TestRoutesWithoutEffect(t *testing.T) {
	for _, c := range []struct{ routes, overrides, want string }{
		{"", "[{policy: a, key: x, deny: true}]", ""},
		// Hidden routes.
		{"[{K, P}, {match: {path: /x}, K, P}]", "[]", "route 1 matches no request: route 0"},
		{"[{match: {path: /x}, K, P}, {K, P}]", "[]", ""},
		{"[{match: {path: /**}, K, P}, {K, P}]", "[]", "route 1"},
		{"[{match: {path: '/a/{id}/**'}, K, P}, {match: {path: /a/b}, K, P}]", "[]", "route 1"},
		{"[{match: {path: '/a/{id}'}, K, P}, {match: {path: /a/b/**}, K, P}]", "[]", ""},
		{"[{match: {path: '/a/b'}, K, P}, {match: {path: '/a/{id}'}, K, P}]", "[]", ""},
		{"[{match: {path: '/a'}, K, P}, {match: {path: '/'}, K, P}]", "[]", ""},
		{"[{match: {host: '*.b.c'}, K, P}, {match: {host: a.b.c}, K, P}]", "[]", "route 1"},
		{"[{match: {host: '*.c'}, K, P}, {match: {host: '*.b.c'}, K, P}]", "[]", "route 1"},
		{"[{match: {host: '*.b.c'}, K, P}, {match: {host: b.c}, K, P}, {match: {host: '*.c'}, K, P}]", "[]", ""},
		{"[{match: {method: [GET, POST]}, K, P}, {match: {method: [HEAD]}, K, P}]", "[]", "route 1"},
		{"[{match: {method: [GET]}, K, P}, {match: {method: [GET, POST]}, K, P}, {K, P}]", "[]", ""},
		{"[{match: {header: {A: '*'}}, K, P}, {match: {header: {A: x, B: y}}, K, P}]", "[]", "route 1"},
		{"[{match: {header: {A: x}}, K, P}, {match: {header: {A: '*'}}, K, P}, {match: {query: {A: x}}, K, P}]", "[]", ""},
		{"[{match: {client: [10.0.0.0/8]}, K, P}, {match: {client: [10.1.0.0/16, 10.2.0.1]}, K, P}]", "[]", "route 1"},
		{"[{match: {client: [10.0.0.0/8]}, K, P}, {match: {client: [10.1.0.0/16, 11.0.0.1]}, K, P}, {K, P}]", "[]", ""},
		{"[{match: {when: 'request.size < 9'}, K, P}, {match: {path: /x, when: 'request.size > 1'}, K, P}]", "[]", "route 1"},
		{"[{match: {when: 'request.size < 9'}, K, P}, {match: {path: /x}, K, P}]", "[]", ""},
		{"[{K, P, empty_key: skip}, {K, P}]", "[]", ""},
		// Keys that no request has.
		{"[{key: [client_ip], P}]", "[{policy: a, key: '2001:db8::/64', deny: true}, {policy: a, key: 10.0.0.1, deny: true}, {policy: a, key: '2001:*', deny: true}]", ""},
		{"[{key: [client_ip], P}]", "[{policy: a, key: '2001\\:db8\\:\\:/64', deny: true}]", "no request of a route has the key"},
		{"[{key: [client_ip], P}]", "[{policy: a, key: '2001\\:*', deny: true}]", "no request of a route has the key"},
		{"[{key: [client_ip], P}]", "[{policy: a, key: '2001:db8::1', deny: true}]", "no request of a route has the key"},
		{"[{key: [client_ip], P}]", "[{policy: a, key: '2001:db8::/48', deny: true}]", "no request of a route has the key"},
		{"[{key: [client_ip], P}]", "[{policy: a, key: '10.0.0.0/8', deny: true}]", "no request of a route has the key"},
		{"[{key: [client_ip], P}]", "[{policy: a, key: '64:ff9b::/64', deny: true}]", "no request of a route has the key"},
		{"[{key: [{const: all}], P}]", "[{policy: a, key: others, deny: true}]", "no request of a route has the key"},
		{"[{key: [{header: A}, client_ip], P}]", "[{policy: a, key: 'x:2001\\:db8\\:\\:/64', deny: true}, {policy: a, key: '*', deny: true}]", ""},
		{"[{key: [{header: A}, client_ip], P}]", "[{policy: a, key: 'x:2001:db8::/64', deny: true}]", "no request of a route has the key"},
		// Keys in a spelling that no request has (regression: bug 256).
		{"[{key: [{header: Authorization}], P}]", "[{policy: a, key: 'Bearer junk', deny: true}]", "no request of a route has the key"},
		{"[{key: [{header: Authorization}], P}]", "[{policy: a, key: 'bearer Junk', deny: true}, {policy: a, key: 'bearer j*', deny: true}]", ""},
		{"[{key: [{header: authorization}], P}]", "[{policy: a, key: 'basic YQ==', deny: true}]", "no request of a route has the key"},
		{"[{key: [{bearer: true}], P}]", "[{policy: a, key: 'bearer junk', deny: true}]", "no request of a route has the key"},
		{"[{key: [{bearer: true}], P}]", "[{policy: a, key: Junk, deny: true}]", ""},
		{"[{key: [{header: A, lower: true}], P}]", "[{policy: a, key: 'Ann*', deny: true}]", "no request of a route has the key"},
		{"[{key: [{header: A, trim: true}, client_ip], P}]", "[{policy: a, key: 'Ann :10.0.0.1', deny: true}]", "no request of a route has the key"},
		{"[{key: [{header: A, lower: true, trim: true}], P}]", "[{policy: a, key: ann, deny: true}]", ""},
		{"[{key: [{header: A}, client_ip], P}, {key: [{header: A}], P, match: {path: /x}}]", "[{policy: a, key: 'x', deny: true}]", "route 1 matches"},
		{"[{key: [{const: all}], policies: [both]}]", "[{policy: a, key: all, deny: true}]", ""},
		{"[{key: [{const: all}], policies: [both]}]", "[{policy: a, key: 'hmac:00112233445566778899aabbccddeeff', deny: true}]", ""},
		// Policies that no route names.
		{"[{K, policies: [a]}]", "[]", "no route names these policies, so they are for requests that name them: both"},
	} {
		text := "policies: {a: {algorithm: token-bucket, rate: 5/s, headers: off}, both: {headers: off, all: [a, {name: b, algorithm: fixed-window, limit: 9, window: 1h}]}}\noverrides: " + c.overrides + "\n"
		if c.routes != "" {
			text += "routes: " + strings.NewReplacer("K,", "key: [{header: X}],", "P}", "policies: [a, both]}", "P,", "policies: [a, both],").Replace(c.routes) + "\n"
		}
		config, err := policy.Parse("x.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		notes := strings.Join(config.Notes(), "\n")
		if (notes != "") != (c.want != "") || !strings.Contains(notes, c.want) {
			t.Errorf("%s %s:\n%s\nwant %q", c.routes, c.overrides, notes, c.want)
		}
	}
}

// If a file has no routes, Notes reports each policy with only a penalty.
func TestPoliciesOfPenalties(t *testing.T) {
	c, err := policy.Parse("x.yaml", []byte("policies: {a: 5/s, p: penalty 3/1m, both: {all: [5/s, penalty 3/1m]}}"))
	if err != nil {
		t.Fatal(err)
	}
	if notes := c.Notes(); len(notes) != 1 || !strings.HasPrefix(notes[0], "policy p is only a penalty, which counts the denials of other limits: ") {
		t.Error(notes)
	}
}

// Notes reports a route with only penalties.
func TestRoutesOfPenalties(t *testing.T) {
	const policies = "policies: {a: 5/s, p: penalty 3/1m, both: {all: [5/s, penalty 3/1m]}}\nroutes: "
	for routes, want := range map[string]string{
		"[{key: [client_ip], policies: [both]}, {key: [client_ip], policies: [p]}]":      "route 1 denies no request: a penalty counts the denials of other limits",
		"[{charge: [{key: [{header: B}], policy: p}, {key: [{header: A}], policy: a}]}]": "",
	} {
		c, err := policy.Parse("x.yaml", []byte(policies+routes))
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(c.Notes(), "\n")
		if strings.Contains(notes, "denies no request") != (want != "") || !strings.Contains(notes, want) {
			t.Errorf("%s: %q, want %q", routes, notes, want)
		}
	}
}

// A route with a concurrency policy is an error, in a file and after a change, unless the reader is for the gateway,
// which holds permits. For the gateway, Notes reports such a route, and a cost of 0 is an error.
func TestRoutesOfConcurrency(t *testing.T) {
	const text = "policies: {a: 5/s, jobs: concurrency 3 lease 1m, all: {all: [jobs]}}\nroutes: "
	gateway := policy.Reader{Gateway: true}
	for routes, want := range map[string]string{
		"[{key: [client_ip], policies: [a]}]":                                             "",
		"[{key: [client_ip], policies: [a]}, {key: [client_ip], policies: [all]}]":        "route 1 charges a concurrency policy, so only headgate gateway accepts this file",
		"[{charge: [{key: [client_ip], policy: a}, {key: [{header: A}], policy: jobs}]}]": "route 0 charges a concurrency policy",
	} {
		c, err := gateway.Parse("x.yaml", []byte(text+routes))
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(c.Notes(), "\n")
		if strings.Contains(notes, "concurrency") != (want != "") || !strings.Contains(notes, want) {
			t.Errorf("%s: %q, want %q", routes, notes, want)
		}
		if _, err := policy.Parse("x.yaml", []byte(text+routes)); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), "only headgate gateway can hold permits while a request lasts") {
			t.Errorf("%s: %v", routes, err)
		}
		for _, read := range []policy.Reader{{}, gateway} {
			c, err := read.Parse("x.yaml", []byte(text+"[{key: [client_ip], policies: [a]}]"))
			if err != nil {
				t.Fatal(err)
			}
			_, left := c.With([]policy.Change{{Policy: "a", Fields: "concurrency 3 lease 1m"}})
			if (left[0] == nil) != read.Gateway {
				t.Errorf("a change to a route's policy: %v", left)
			}
		}
	}
	for _, cost := range []string{"{jobs: {algorithm: concurrency, limit: 3, lease: 1m, cost: 0}}\nroutes: [{key: [client_ip], policies: [jobs]}]", "{jobs: concurrency 3 lease 1m}\nroutes: [{key: [client_ip], cost: 0, policies: [jobs]}]"} {
		if _, err := gateway.Parse("x.yaml", []byte("policies: "+cost)); err == nil || !strings.Contains(err.Error(), `cost is 0; accepted: 1 or more with policy "jobs"`) {
			t.Errorf("%s: %v", cost, err)
		}
	}
}

// TestVictims checks the notes for policies whose counter of an address a client can reach by a text that it writes
// (regression: bug 104).
func TestVictims(t *testing.T) {
	for _, c := range []struct {
		keys  string // the keys of two routes
		noted bool
	}{
		{"[client_ip] [{header: X-User}]", true},
		{"[{query: q}] [client_ip]", true},
		{"[client_ip] [{cookie: c}]", true},
		{"[client_ip] [{jwt: {header: Authorization, claim: sub}}]", true},
		{"[{header: A}, client_ip] [{header: A}, {header: B}]", true},
		{"[{const: x}, client_ip] [{const: x}, {header: B}]", true},
		{"[{const: x}, client_ip] [{header: A}, {header: B}]", true},
		{"[{header: A}, client_ip] [{header: A}]", true},
		{"[client_ip] [{path: id}]", true},
		{"[client_ip] [client_ip]", false},
		{"[client_ip] [{const: all}]", false},
		{"[client_ip] [{const: user}, {header: X-User}]", false},
		{"[{const: ip}, client_ip] [{const: user}, {header: X-User}]", false},
		{"[{header: A}] [{header: B}]", false},
		{"[{header: A}, client_ip] [{header: B}, client_ip]", false},
	} {
		first, second, _ := strings.Cut(c.keys, "] [")
		text := "policies: {a: 5/s}\nroutes: [{match: {path: /x}, key: " + first + "], policies: [a]}, {match: {path: '/y/{id}'}, key: [" + second + ", policies: [a]}]\n"
		config, err := policy.Parse("x.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if notes := strings.Join(config.Notes(), "\n"); strings.Contains(notes, "another client's address") != c.noted {
			t.Errorf("%s: %q", c.keys, notes)
		}
	}
}
