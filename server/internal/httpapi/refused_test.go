package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/service"
)

// TestRefusedRequestsAreCounted checks that each request that gets no decision is counted under its reason, and that
// decided requests are not. Regression: a proxy that is not trusted let every request pass, and no metric moved.
func TestRefusedRequestsAreCounted(t *testing.T) {
	limiter := core.New(core.Config{})
	t.Cleanup(func() { _ = limiter.Close() })
	config, err := policy.Parse("test.yaml", []byte(authorizing))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why     string // a reason, or "" if there is a decision
		request string // METHOD path, and then the lines of headers
		body    string
		status  int
	}{
		{"", "POST /v1/allow", `{"policy":"search","key":"k"}`, 200},
		{"", "POST /v1/allow", `{"policy":"absent","key":"k"}`, 404}, // an invalid decision
		{"", "GET /v1/authorize\nX-Forwarded-Uri: /plan\nX-Plan: a", "", 200},
		{"", "GET /v1/authorize\nX-Forwarded-Uri: /plan", "", 400}, // denied: it lacks its key
		{"untrusted", "GET /v1/authorize\nFrom: 192.0.2.1:1\nX-Forwarded-Uri: /plan", "", 403},
		{"untrusted", "GET /v1/authorize?deny=403\nFrom: 192.0.2.1:1\nX-Forwarded-Uri: /plan", "", 500},
		{"undescribed", "GET /v1/authorize", "", 400},
		{"undescribed", "GET /v1/authorize?deny=500\nX-Forwarded-Uri: /plan", "", 400},
		{"malformed", "GET /v1/authorize\nX-Original-URI: users/7", "", 400},
		{"malformed", "POST /v1/allow", `{"policy":`, 400},
		{"malformed", "POST /v1/allow", `{"requests":[{"policy":"search","key":"k"},{"key":5}]}`, 200},
		{"too_large", "POST /v1/allow", strings.Repeat(" ", maxBody+1), 413},
		{"web_page", "POST /v1/allow\nOrigin: https://shop.example", `{"policy":"search","key":"k"}`, 403},
		{"no_right", "POST /v1/reset", `{"policy":"search","key":"k"}`, 403},
		{"no_right", "GET /v1/policies\nHost: rebound.example", "", 403},
		{"no_path", "POST /v1/alow", `{"policy":"search","key":"k"}`, 404},
		{"no_path", "GET /v1/allow", "", 405},
	} {
		s := service.New(service.Config{Limiter: limiter})
		s.SetPolicies(config.Policies, config.Routes)
		w := httptest.NewRecorder()
		if New(s).ServeHTTP(w, written(c.request, c.body)); w.Code != c.status {
			t.Errorf("%s: %d %s, want %d", c.request, w.Code, w.Body, c.status)
		}
		for why := range service.RefusalCount {
			want := uint64(0)
			if why.String() == c.why {
				want = 1
			}
			if n := s.Refusals(service.HTTP, why); n != want {
				t.Errorf("%s: %d refused as %s, want %d", c.request, n, why, want)
			}
		}
	}
	s := service.New(service.Config{Limiter: limiter})
	New(s).ServeHTTP(httptest.NewRecorder(), written("GET /v1/authorize\nX-Forwarded-Uri: /plan", ""))
	if n := s.Refusals(service.HTTP, service.NoRoutes); n != 1 {
		t.Errorf("%d refused without routes", n)
	}
}

// written returns a request of lines: METHOD path, and then headers. From is the address of the caller.
func written(lines, body string) *http.Request {
	all := strings.Split(lines, "\n")
	method, path, _ := strings.Cut(all[0], " ")
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr, r.Host = "127.0.0.1:1", "localhost"
	for _, line := range all[1:] {
		switch name, value, _ := strings.Cut(line, ": "); name {
		case "From":
			r.RemoteAddr = value
		case "Host":
			r.Host = value
		default:
			r.Header.Set(name, value)
		}
	}
	return r
}
