package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/server/internal/service"
)

// TestRefusedRequestsAreCounted checks that requests that the gateway refuses without a decision are counted under
// their reason, and that others are not (regression: bug 165).
func TestRefusedRequestsAreCounted(t *testing.T) {
	limiter := core.New(core.Config{})
	defer limiter.Close()
	g := startOn(t, service.Config{Limiter: limiter}, `
policies: {user: {`+hour+`}}
upstreams: {deep: "http://127.0.0.1:1/base"}
routes:
  - {match: {path: "/user/**"}, key: [{header: X-User}], policies: [user]}
  - {match: {path: "/deep/**"}, key: [{header: X-User}], policies: [user], upstream: deep}
`, nil)
	before := [service.RefusalCount]uint64{}
	for _, c := range []struct {
		why          service.Refusal // RefusalCount: the request has a decision
		method, path string
		header       string
	}{
		{service.RefusalCount, "GET", "/deep/a", "X-User: "},
		{service.NoUpstream, "GET", "/user/a", "X-User: a"},
		{service.NoUpstream, "GET", "/elsewhere", "X-User: a"},
		{service.Malformed, "CONNECT", "/user/a", "X-User: a"},
		{service.Malformed, "GET", "/user/a", "X-User: a\x00"},
		{service.TooLarge, "GET", "/user/a", "X-User: " + strings.Repeat("a", 1<<20)},
	} {
		r := httptest.NewRequest(c.method, "http://host/", nil)
		r.URL.Path = c.path
		name, value, _ := strings.Cut(c.header, ": ")
		r.Header = http.Header{name: {value}}
		g.ServeHTTP(httptest.NewRecorder(), r)
		if c.why < service.RefusalCount {
			before[c.why]++
		}
		for why, want := range before {
			if n := g.service.Refusals(service.Gateway, service.Refusal(why)); n != want {
				t.Errorf("%s %s: %d refused as %s, want %d", c.method, c.path, n, service.Refusal(why), want)
			}
		}
	}
}
