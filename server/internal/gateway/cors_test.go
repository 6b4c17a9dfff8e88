package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/gateway"
)

// A page of a configured origin can read the gateway's own answers, and the decision in the answers that the upstream
// shares. Other pages cannot (regression: bug 139).
func TestPagesReadDenials(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/shared" {
			w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
			w.Header().Set("Access-Control-Expose-Headers", "X-Own")
		}
	}))
	defer upstream.Close()
	to, err := route.ParseUpstream(gateway.DefaultUpstream, upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	const file = `
policies: {api: 100/s, none: {deny: true}}
routes:
  - {match: {path: /denied}, key: [{const: all}], policies: [none]}
  - {key: [{const: all}], policies: [api]}
`
	for _, c := range []struct {
		origins             []string
		path, from          string
		status              int
		origin, credentials string
		exposed             bool
	}{
		{[]string{"https://a.test"}, "/denied", "https://a.test", 429, "https://a.test", "true", true},
		{[]string{"https://a.test"}, "/denied", "https://b.test", 429, "", "", false},
		{[]string{"https://a.test"}, "/denied", "", 429, "", "", false},
		{[]string{"*"}, "/denied", "https://b.test", 429, "*", "", true},
		{[]string{"https://a.test"}, "/shared", "https://a.test", 200, "https://a.test", "", true},
		{[]string{"https://a.test"}, "/own", "https://a.test", 200, "", "", false},
		{nil, "/denied", "https://a.test", 429, "", "", false},
	} {
		g := start(t, file, func(gc *gateway.Config) { gc.Upstream, gc.Origins = to, c.origins })
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+g.address+c.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if c.from != "" {
			r.Header.Set("Origin", c.from)
		}
		answer, err := g.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		h := answer.Header
		exposed := strings.Contains(strings.Join(h.Values("Access-Control-Expose-Headers"), ", "), "Retry-After, RateLimit, ")
		if answer.StatusCode != c.status || h.Get("Access-Control-Allow-Origin") != c.origin || h.Get("Access-Control-Allow-Credentials") != c.credentials || exposed != c.exposed {
			t.Errorf("%s from %q with %q: %d %v", c.path, c.from, c.origins, answer.StatusCode, h)
		}
	}
}
