package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// blamed is a file whose upstreams follow their failures: a refused request must move no limit.
func blamed(url string) string {
	return `
policies:
  load: {algorithm: adaptive-rate, rate: 1000/1h, min: 100, max: 2000, interval: 100ms}
  user: {algorithm: fixed-window, limit: 1000, window: 1h}
upstreams: {one: {url: "` + url + `", in_flight: {min: 1, max: 20, latency: 1s}}}
routes: [{key: [{const: all}], policies: [load, user], cost: {header: X-Cost, max: 5}, upstream: one, refund_on_error: true}]
`
}

// check checks that the requests before it were neither charged nor counted as failures of their upstream.
func (r *running) check(t *testing.T, what string, spent int64) {
	t.Helper()
	if left := r.remaining("user", "all"); left != 1000-spent {
		t.Errorf("%s: %d units left, want %d", what, left, 1000-spent)
	}
	if rate := r.peek("load", "all").Binds().Limit; rate != 1000 {
		t.Errorf("%s: the adaptive rate is %d", what, rate)
	}
	s := r.Stats()
	if s.Undone != 0 {
		t.Errorf("%s: %d refunds", what, s.Undone)
	}
	for _, u := range s.Upstreams {
		if u.Away+u.Slow != 0 || u.Limit != 20 {
			t.Errorf("%s: %+v", what, u)
		}
	}
}

// h2c starts an upstream that speaks HTTP/2 in clear text and takes headers of up to limit bytes.
func h2c(t *testing.T, h http.HandlerFunc, limit int) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Config.MaxHeaderBytes = limit
	s.Start()
	t.Cleanup(s.Close)
	return "h2c://" + s.Listener.Addr().String()
}

// TestRefusalsAreNotTheUpstreams checks that requests that no transport sends are refused before they are charged, and
// that they are no failures of the upstream (regression: bug 92).
func TestRefusalsAreNotTheUpstreams(t *testing.T) {
	arrived := func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the upstream got %s %v", r.Method, r.Header) }
	for _, url := range []string{upstream(t, arrived), h2c(t, arrived, 0)} {
		g := start(t, blamed(url), nil)
		many := strings.Repeat("A: b\r\n", 3000)
		for _, c := range []struct{ request, status string }{
			{"POST / HTTP/1.1\r\nHost: a\r\nTrailer: a b\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
			{"POST / HTTP/1.1\r\nHost: a\r\nTrailer: x\x7f\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
			{"POST / HTTP/1.1\r\nHost: a\r\nTrailer: Content-Length\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
			{"GET / HTTP/1.1\r\nHost: a\r\n" + many + "\r\n", "431"},
			{"GET / HTTP/1.1\r\nHost:\r\n\r\n", "400"},
			{"GET / HTTP/1.0\r\n\r\n", "400"},
			{"GET / HTTP/1.1\r\nHost: b\u00fccher.example\r\n\r\n", "400"},
			{"GET / HTTP/1.1\r\nHost: [fe80::1%25eth0]\r\n\r\n", "400"},
			{"GET / HTTP/1.1\r\nHost: [fe80::1%eth0]:80\r\n\r\n", "400"},
			{"G@T / HTTP/1.1\r\nHost: a\r\n\r\n", "400"},
			{"GET /?token=real#1 HTTP/1.1\r\nHost: a\r\n\r\n", "400"}, // some servers read the token real (regression: bug 220)
			{"GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n", "400"},
		} {
			for range 5 {
				if got := exchange(t, g.address, strings.Replace(c.request, "\r\n", "\r\nConnection: close\r\n", 1)); !strings.HasPrefix(got[min(len(got), 9):], c.status) {
					t.Errorf("%s: %.60q: %.200q", url, c.request, got)
				}
			}
		}
		for _, method := range []string{"A B", "GET\t", "G\u00c9T", ""} {
			if got := methodOverHTTP2(t, g.address, method); got != "400" && got != "reset" {
				t.Errorf("method %q: %s", method, got)
			}
		}
		line := [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "h"}, {":path", "/?token=real HTTP/1.1"}} // two protocols in HTTP/1 (220)
		if got := statusOfHTTP2(t, g.address, line); got != "400" {
			t.Errorf("a blank in the query: %s", got)
		}
		g.check(t, url, 0)
	}
}

// TestNoWebsocketOverHTTP2 checks that a websocket to an upstream that cannot have one is refused, and is not its failure.
func TestNoWebsocketOverHTTP2(t *testing.T) {
	g := start(t, blamed(h2c(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%v", r.Header) }, 0)), nil)
	if got := exchange(t, g.address, strings.Replace(handshake, "keep-alive", "close", 1)); !strings.HasPrefix(got, "HTTP/1.1 400") {
		t.Errorf("%.200q", got)
	}
	g.check(t, "websocket", 0)
}

// TestHeadersTooLargeForTheUpstream checks the refusal that only the upstream's own bound shows: it is paid for, and is
// not a failure of the upstream.
func TestHeadersTooLargeForTheUpstream(t *testing.T) {
	g := start(t, blamed(h2c(t, func(http.ResponseWriter, *http.Request) {}, 4096)), nil)
	if got := g.send("GET", "/"); got.status != 200 { // the bound arrives with the connection
		t.Fatalf("%+v", got)
	}
	for range 5 {
		if got := g.send("GET", "/", "X: "+strings.Repeat("x", 20_000)); got.status != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%+v", got)
		}
	}
	g.check(t, "too large for the upstream", 6)
}

// TestTrailers checks that only announced trailers reach the upstream, and none that a route reads or that says who the
// client is (regression: bug 93).
func TestTrailers(t *testing.T) {
	shown := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%v", r.Trailer)
	}
	for _, url := range []string{upstream(t, shown), h2c(t, shown, 0)} {
		g := start(t, blamed(url), nil)
		ask := func(announced, sent string) string {
			return exchange(t, g.address, "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"+announced+"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"+sent+"\r\n")
		}
		if got := ask("Trailer: X-Sum\r\n", "X-Sum: 7\r\nX-Forwarded-For: 192.0.2.1\r\nX-Cost: 1\r\n"); !strings.Contains(got, "map[X-Sum:[7]]") {
			t.Errorf("%s: %q", url, got)
		}
		if got := ask("", "X-Sum: 7\r\nX-Forwarded-For: 192.0.2.1\r\n"); !strings.Contains(got, "map[]") {
			t.Errorf("%s: %q", url, got)
		}
		for _, name := range []string{"X-Forwarded-For", "x_forwarded_for", "Forwarded", "X-Real-IP", "Cookie", "Authorization", "Host", "X-Cost", "x_cost", "X-Sum, x-cost"} {
			if got := ask("Trailer: "+name+"\r\n", ""); !strings.HasPrefix(got, "HTTP/1.1 400") {
				t.Errorf("%s: %s: %q", url, name, got)
			}
		}
		if got := ask("Trailer: X-Sum\r\n", "X-Sum: \x01\r\n"); !strings.HasPrefix(got, "HTTP/1.1 400") {
			t.Errorf("%s: %q", url, got)
		}
		g.check(t, url, 3)
	}
}

// methodOverHTTP2 is statusOverHTTP2 for a method.
func methodOverHTTP2(t *testing.T, address, method string) string {
	t.Helper()
	return statusOfHTTP2(t, address, [][2]string{{":method", method}, {":scheme", "http"}, {":authority", "h"}, {":path", "/"}})
}

// statusOfHTTP2 sends a request with these headers and returns the status of the response, or "reset" if the gateway
// resets the stream or sends a GOAWAY.
func statusOfHTTP2(t *testing.T, address string, headers [][2]string) string {
	t.Helper()
	conn, frames := dialHTTP2(t, address)
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	frames.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range headers {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
	}
	if err := frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true}); err != nil {
		t.Fatal(err)
	}
	for {
		frame, err := frames.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			return frame.PseudoValue("status")
		case *http2.GoAwayFrame, *http2.RSTStreamFrame:
			return "reset"
		}
	}
}
