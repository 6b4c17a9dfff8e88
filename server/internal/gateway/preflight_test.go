package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/gateway"
)

// A browser's preflight has no key, so a route by a key passes it without a charge, to the upstream of the request that
// it asks about. A route that names OPTIONS decides it (regression: bug 137).
func TestPreflightsPass(t *testing.T) {
	upstream := func(name string) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Upstream", name+r.Header.Get("X-Http-Method-Override")+r.Header.Get("X_http_method"))
		}))
		t.Cleanup(s.Close)
		return s
	}
	orders, other := upstream("orders"), upstream("other")
	file := `
policies: {one: {algorithm: fixed-window, limit: 1, window: 1h}, none: {deny: true}}
upstreams: {orders: "` + orders.URL + `"}
routes:
  - {match: {path: /named, method: [GET, OPTIONS]}, key: [{const: all}], policies: [none]}
  - {match: {path: /orders}, key: [{header: X-API-Key}], policies: [one], upstream: orders}
`
	to, err := route.ParseUpstream(gateway.DefaultUpstream, other.URL)
	if err != nil {
		t.Fatal(err)
	}
	g := start(t, file, func(c *gateway.Config) { c.Upstream, c.DenyUnmatched = to, true })
	call := func(method, path string, header ...string) (status int, upstream string) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+g.address+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(header); i += 2 {
			r.Header[header[i]] = []string{header[i+1]}
		}
		answer, err := g.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode, answer.Header.Get("Upstream")
	}
	preflight := []string{"Origin", "https://a.test", "Access-Control-Request-Method", "POST", "X-Http-Method-Override", "POST", "X_HTTP_Method", "POST"}
	for range 3 {
		if status, upstream := call("OPTIONS", "/orders", preflight...); status != 200 || upstream != "orders" {
			t.Fatalf("a preflight: %d by %q", status, upstream)
		}
	}
	if status, _ := call("POST", "/orders", "X-Api-Key", "k"); status != 200 {
		t.Errorf("the request after preflights: %d", status)
	}
	for path, want := range map[string]int{"/named": 429, "/nowhere": 404} {
		if status, _ := call("OPTIONS", path, append(preflight, "Access-Control-Request-Method", "GET")...); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
	if status, _ := call("OPTIONS", "/orders"); status != 400 {
		t.Errorf("OPTIONS that is no preflight: %d", status)
	}
}
