package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
)

// TestUpstreamMovesTheRate checks that the gateway reports its upstream's responses: a 503 or 429 with Retry-After
// stops the key at once. A 200 with Retry-After, or one 500, does not.
func TestUpstreamMovesTheRate(t *testing.T) {
	var status atomic.Int64
	var retryAfter atomic.Value
	retryAfter.Store("")
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if text := retryAfter.Load().(string); text != "" {
			w.Header().Set("Retry-After", text)
		}
		w.WriteHeader(int(status.Load()))
	}))
	t.Cleanup(upstream.Close)
	g := start(t, `
policies: {load: {algorithm: adaptive-rate, rate: 1000/1h, min: 100, max: 2000, interval: 100ms}}
routes: [{match: {path: "/{name}"}, key: [{path: name}], policies: [load]}]
`, to(t, upstream.URL))
	for i, c := range []struct {
		status     int64
		retryAfter string
		next       int // the status of the key's next request
	}{{200, "", 200}, {200, "3000", 200}, {500, "", 500}, {503, "3000", 429}, {429, "30", 429}} {
		status.Store(c.status)
		retryAfter.Store(c.retryAfter)
		path := "/" + strconv.Itoa(i)
		if got := g.send("GET", path); got.status != int(c.status) {
			t.Fatalf("%+v", got)
		}
		if got := g.send("GET", path); got.status != c.next {
			t.Errorf("after %d with Retry-After %q: %+v", c.status, c.retryAfter, got)
		}
	}
}
