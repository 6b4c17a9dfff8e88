package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestOverloadedUpstream checks that requests beyond an upstream's limit get a 503 and are not charged, and that a
// request delayed by a pacer does not count as being at the upstream.
func TestOverloadedUpstream(t *testing.T) {
	inside, leave := make(chan bool), make(chan bool)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			inside <- true
			<-leave
		}
		_, _ = io.WriteString(w, "done")
	}))
	t.Cleanup(upstream.Close)
	g := start(t, `
policies: {user: {`+hour+`}, pace: {algorithm: pacer, rate: 10/s, max_wait: 1s}}
upstreams: {one: {url: "`+upstream.URL+`", in_flight: {min: 1, max: 1, latency: 1s}}, two: "`+upstream.URL+`"}
routes:
  - {match: {path: /other}, key: [{const: all}], policies: [user], upstream: two}
  - {match: {path: /paced}, key: [{const: all}], policies: [pace], upstream: one}
  - {key: [{const: all}], policies: [user], upstream: one}
`, nil)
	first := make(chan int)
	go func() { first <- g.send("GET", "/slow").status }()
	<-inside
	for range 5 {
		got := g.send("GET", "/")
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || got.header.Get("Content-Type") != "application/problem+json" {
			t.Fatalf("%+v", got)
		}
	}
	if left := g.remaining("user", "all"); left != 2 {
		t.Errorf("%d left of 3: refused requests were charged", left)
	}
	if got := g.send("GET", "/other"); got.status != http.StatusOK {
		t.Errorf("another upstream: %+v", got)
	}
	leave <- true
	if status := <-first; status != http.StatusOK {
		t.Error(status)
	}
	for range 3 {
		if got := g.send("GET", "/paced"); got.status != http.StatusOK {
			t.Errorf("one after another: %+v", got)
		}
	}
	for _, u := range g.Stats().Upstreams {
		if u.Name == "one" && (u.Limit != 1 || u.Overloaded != 5) {
			t.Errorf("%+v", u)
		}
	}
}
