package servicetest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
	"github.com/headgate/headgate/server/internal/service"
)

var oddRoutes = `
policies: {one: {algorithm: fixed-window, limit: 1, window: 1h}}
routes:
  - {match: {path: /header}, key: [{header: X-Key}], empty_key: skip, policies: [one]}
  - {match: {path: /query}, key: [{query: token}], empty_key: skip, policies: [one]}
  - {match: {path: /matched, query: {v: "2"}}, key: [{const: all}], policies: [one]}
  - {match: {path: /cookie}, key: [{cookie: sid}], empty_key: skip, policies: [one]}
  - {match: {path: /when, when: 'request.headers["x-text"].matches("` + strings.Repeat("[a-f]+", 140) + `z$")'}, key: [{const: all}], policies: [one]}
`

// odd are requests by which a client could leave the counter of its key "k": each is refused with 400.
var odd = []struct {
	name, target string
	headers      []string
}{
	{"Connection removes the key", "/header", []string{"X-Key: k", "Connection: X-Key"}},
	{"Connection removes the key too", "/header", []string{"X-Key: k", "Connection: keep-alive, x-key"}},
	{"a header twice", "/header", []string{"X-Key: k", "X-Key: other"}},
	{"a header twice, the key last", "/header", []string{"X-Key: other", "X-Key: k"}},
	{"a header twice, once empty", "/header", []string{"X-Key: k", "X-Key: "}},
	{"a field twice", "/query?token=other&token=k", nil},
	{"a field twice, encoded", "/query?token=other&%74oken=k", nil},
	{"a field after a semicolon", "/query?token=other&x;token=k", nil},
	{"a field that is only after a semicolon", "/query?x=1;token=k", nil},
	{"a field that is matched, after a semicolon", "/matched?x=1;v=2", nil},
	{"a cookie twice", "/cookie", []string{"Cookie: sid=other; sid=k"}},
	{"a cookie after a space", "/cookie", []string{"Cookie: a=b sid=k"}},
	{"a cookie after a comma", "/cookie", []string{"Cookie: sid=other; a=b,sid=k"}},
	{"a condition that costs too much", "/when", []string{"X-Text: " + strings.Repeat("a", 12_000) + "z"}},
}

// runOdd checks that a front end refuses each odd request.
func runOdd(t *testing.T, open func(t *testing.T, s *service.Service, l *filelimit.Limiter) Ask) {
	config, err := policy.Parse("servicetest.yaml", []byte(oddRoutes))
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New()
	t.Cleanup(func() { _ = limiter.Close() })
	s := service.New(service.Config{Limiter: limiter.Core()})
	s.SetPolicies(config.Policies, config.Routes)
	ask := open(t, s, filelimit.New(config, limiter))
	for _, c := range odd {
		r := httptest.NewRequest(http.MethodGet, c.target, http.NoBody)
		r.RemoteAddr = "127.0.0.1:1000" // a trusted proxy
		for _, header := range c.headers {
			name, value, _ := strings.Cut(header, ": ")
			r.Header.Add(name, value)
		}
		if status, h := ask(t, r); status != http.StatusBadRequest {
			t.Errorf("%s: %d %v, want 400", c.name, status, h)
		}
	}
}
