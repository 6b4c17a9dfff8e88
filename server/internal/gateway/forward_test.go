package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/server/internal/gateway"
)

// exchange writes text to a new connection. It returns the bytes read until the connection is closed, or is silent
// for a second.
func exchange(t testing.TB, address, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for buffer := make([]byte, 4096); ; {
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		n, err := c.Read(buffer)
		if b.Write(buffer[:n]); err != nil {
			return b.String()
		}
	}
}

// shows is a handler for upstreams. It answers with the headers, method, target and body of the request.
func shows(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	for name, values := range r.Header {
		fmt.Fprintf(w, "%s: %s\n", name, strings.Join(values, "|"))
	}
	fmt.Fprintf(w, "%s %s %q", r.Method, r.URL.RequestURI(), body)
}

// line returns the value of a header in an answer from the shows handler.
func line(body, name string) string {
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, name+": "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

const byClient = `
policies: {client: {` + hour + `}}
routes: [{key: [{client_ip: {}}], policies: [client]}]
`

// TestForwardingHeadersFromUntrustedPeers checks that the routes and the upstream ignore an untrusted client's claims about
// itself and its request.
func TestForwardingHeadersFromUntrustedPeers(t *testing.T) {
	g := start(t, "trusted_proxies: []\n"+byClient, to(t, upstream(t, shows)))
	got := g.send("GET", "/", "X-Forwarded-For: 203.0.113.7", "X-Forwarded-For: 203.0.113.8", "Forwarded: for=203.0.113.7", "X-Real-Ip: 203.0.113.7",
		"X-Forwarded-Host: evil.example", "X-Forwarded-Proto: https", "X-Original-Url: /admin", "X-Forwarded-Uri: /admin")
	if at := line(got.body, "X-Forwarded-For"); at != "127.0.0.1" {
		t.Errorf("X-Forwarded-For: %q", at)
	}
	for _, name := range []string{"Forwarded", "X-Real-Ip", "X-Original-Url", "X-Forwarded-Uri"} {
		if at := line(got.body, name); at != "" {
			t.Errorf("%s: %q", name, at)
		}
	}
	if line(got.body, "X-Forwarded-Proto") != "http" || line(got.body, "X-Forwarded-Host") != g.address {
		t.Errorf("%s", got.body)
	}
	if g.remaining("client", "127.0.0.1") != 2 || g.remaining("client", "203.0.113.7") != 3 {
		t.Error("charged to the address that the client claims")
	}
}

// TestForwardingHeadersOfAProxy checks that a trusted proxy's headers are trusted and forwarded with the proxy's
// address appended, and that an entry that is not an address ends the search.
func TestForwardingHeadersOfAProxy(t *testing.T) {
	g := start(t, byClient, to(t, upstream(t, shows))) // loopback is trusted
	for _, c := range []struct{ sent, key, want string }{
		{"203.0.113.9, 203.0.113.7", "203.0.113.7", "203.0.113.9, 203.0.113.7, 127.0.0.1"},
		{"203.0.113.9, nonsense", "127.0.0.1", "203.0.113.9, nonsense, 127.0.0.1"},
		{"203.0.113.9,,", "127.0.0.1", "203.0.113.9,,, 127.0.0.1"},
		{"2001:db8:1:2:3::4", "2001:db8:1:2::/64", "2001:db8:1:2:3::4, 127.0.0.1"},
		{"", "127.0.0.1", "127.0.0.1"},
	} {
		before := g.remaining("client", headgate.Key(c.key))
		headers := []string{"X-Forwarded-Proto: https", "X-Forwarded-Host: shop.example", "Forwarded: for=198.51.100.1"}
		if c.sent != "" {
			headers = append(headers, "X-Forwarded-For: "+c.sent)
		} else {
			headers = headers[:2]
		}
		got := g.send("GET", "/", headers...)
		if at := line(got.body, "X-Forwarded-For"); at != c.want {
			t.Errorf("%q: X-Forwarded-For: %q, want %q", c.sent, at, c.want)
		}
		if line(got.body, "X-Forwarded-Proto") != "https" || line(got.body, "X-Forwarded-Host") != "shop.example" {
			t.Errorf("%q: %s", c.sent, got.body)
		}
		if after := g.remaining("client", headgate.Key(c.key)); after != before-1 {
			t.Errorf("%q: %s has %d after %d", c.sent, c.key, after, before)
		}
	}
}

const byUser = `
policies: {user: {` + hour + `}}
routes: [{match: {path: "/user/**"}, key: [{header: X-User}, {query: q}], empty_key: deny, policies: [user]}]
`

// TestHopByHopHeaders checks that hop-by-hop headers are not forwarded to the upstream.
func TestHopByHopHeaders(t *testing.T) {
	g := start(t, byUser, to(t, upstream(t, shows)))
	got := g.send("GET", "/elsewhere", "Connection: keep-alive, x-absent,Proxy-Authorization", "Keep-Alive: 5", "Proxy-Authorization: Basic x", "X-Forwarded-For: 203.0.113.7", "X-Kept: 1")
	for name, want := range map[string]string{"Keep-Alive": "", "Connection": "", "Proxy-Authorization": "", "X-Kept": "1", "X-Forwarded-For": "203.0.113.7, 127.0.0.1"} {
		if at := line(got.body, name); at != want {
			t.Errorf("%s: %q, want %q", name, at, want)
		}
	}
}

// TestConnectionRemovesNoHeader checks that a client's Connection header, passed on by its proxy, cannot remove headers
// written by the proxy: who the client is, and what routes match, count under and charge (regression: bugs 68 and 91).
func TestConnectionRemovesNoHeader(t *testing.T) {
	file := byUser + "trusted_proxies: []\n"
	trusting, others := start(t, byUser, to(t, upstream(t, shows))), start(t, file, to(t, upstream(t, shows)))
	for _, name := range []string{
		"X-Forwarded-For", "x-forwarded-proto", "Forwarded", "X-Request-Id", "Traceparent", "X-Real-Ip", "X-User", "X-Plan", "x-cost", "Cookie", "Authorization", "Content-Type",
	} {
		for _, g := range []*running{trusting, others} {
			for _, connection := range []string{"Connection: " + name, "Connection: keep-alive, " + name + " ,x", "Connection: close\tx,\t" + name} {
				got := g.send("GET", "/user/?q=1", connection, "X-User: 7", name+": 1")
				if got.status != 400 || !strings.Contains(got.body, "Connection") {
					t.Errorf("%s: %+v", connection, got)
				}
			}
		}
	}
	if left := trusting.remaining("user", headgate.Key("7", "1")); left != 3 {
		t.Errorf("%d units left, want 3", left)
	}
}

// TestAmbiguousTargets checks that a target without a leading slash, or a host with two ports, gets a 400. Such
// requests reach no route and no upstream (regression: bug 67).
func TestAmbiguousTargets(t *testing.T) {
	var arrived atomic.Int64
	g := start(t, "policies: {p: {"+hour+"}}\nroutes: [{match: {path: /login}, key: [{const: all}], policies: [p]}]", to(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		shows(w, r)
	})))
	for _, request := range []string{
		"GET x:http://h/login HTTP/1.1\r\nHost: a",
		"POST mailto:login HTTP/1.1\r\nHost: a\r\nContent-Length: 0",
		"GET * HTTP/1.1\r\nHost: a",
		"GET login HTTP/1.1\r\nHost: a",
		"GET /login HTTP/1.1\r\nHost: a:80:81",
		"GET /login HTTP/1.1\r\nHost: [::1]:80:81",
	} {
		if got := exchange(t, g.address, request+"\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 400") {
			t.Errorf("%q: %.80q", request, got)
		}
	}
	if arrived.Load() != 0 || g.remaining("p", "all") != 3 {
		t.Errorf("%d requests came to the upstream, %d units are left", arrived.Load(), g.remaining("p", "all"))
	}
	for _, request := range []string{"GET http://h/login HTTP/1.1\r\nHost: h", "GET http://h HTTP/1.1\r\nHost: h", "GET x:/login HTTP/1.1\r\nHost: a", "GET /login HTTP/1.1\r\nHost: [::1]:80"} {
		if got := exchange(t, g.address, request+"\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200") {
			t.Errorf("%q: %.80q", request, got)
		}
	}
	if g.remaining("p", "all") != 0 {
		t.Errorf("%d units are left after three requests for /login", g.remaining("p", "all"))
	}
}

// TestNoOtherRequestIsSmuggled checks that the gateway and the upstream see the same number of requests, even if a
// header states two lengths, and that malformed requests do not reach the upstream.
func TestNoOtherRequestIsSmuggled(t *testing.T) {
	var arrived atomic.Int64
	g := start(t, byUser, to(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		shows(w, r)
	})))
	got := exchange(t, g.address, "POST /user/?q=1 HTTP/1.1\r\nHost: a\r\nX-User: 7\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n"+
		"0\r\n\r\nGET /user/?q=1 HTTP/1.1\r\nHost: a\r\nX-User: 7\r\nConnection: close\r\n\r\n")
	if charged := 3 - g.remaining("user", headgate.Key("7", "1")); charged != 2 || arrived.Load() != 2 || strings.Count(got, "HTTP/1.1 200 OK") != 2 {
		t.Errorf("%d charged, %d at the upstream: %q", charged, arrived.Load(), got)
	}
	for _, request := range []string{
		"POST /user/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
		"POST /user/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"GET /user/ HTTP/1.1\r\nHost: a\r\nX-User : 7\r\n\r\n",
		"GET /user/ HTTP/1.1\r\nHost: a\r\nX-User: 7\x00\r\n\r\n",
		"GET /user/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"GET /user/ HTTP/1.1\r\n\r\n",
		"GET /us er/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /user/ HTTP/9.9\r\nHost: a\r\n\r\n",
		"GET /user/ HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("a", 80<<10) + "\r\n\r\n",
	} {
		got := exchange(t, g.address, request)
		if !strings.HasPrefix(got, "HTTP/1.1 4") && !strings.HasPrefix(got, "HTTP/1.1 5") {
			t.Errorf("%.80q: %.80q", request, got)
		}
	}
	if arrived.Load() != 2 {
		t.Errorf("%d malformed requests came to the upstream", arrived.Load()-2)
	}
}

// TestNoUpgradeButWebsocket checks that an upgrade to h2c is not forwarded, because the gateway could not see the
// requests that follow.
func TestNoUpgradeButWebsocket(t *testing.T) {
	g := start(t, byUser, to(t, upstream(t, shows)))
	got := exchange(t, g.address, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n")
	if _, body, _ := strings.Cut(got, "\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200") || line(body, "Upgrade")+line(body, "Connection")+line(body, "Http2-Settings") != "" {
		t.Errorf("%q", got)
	}
}

// TestKeysOfAnySize checks that values longer than 1 KiB are counted under their hash, and that parts that contain key
// separators make distinct keys.
func TestKeysOfAnySize(t *testing.T) {
	g := start(t, byUser, to(t, upstream(t, shows)))
	long := strings.Repeat("k", 4000)
	for _, c := range []struct{ user, q string }{{long, "a"}, {long, "b"}, {long + "x", "a"}, {"a:b", "c"}, {"a", "b:c"}, {"a%3Ab", "c"}, {"1:7", "1:1"}} {
		for i, want := range []int{200, 200, 200, 429} {
			if got := g.send("GET", "/user/?q="+c.q, "X-User: "+c.user); got.status != want {
				t.Errorf("%.9s %s, request %d: %d, want %d", c.user, c.q, i, got.status, want)
			}
		}
	}
}

// TestAbsurdCosts checks that a cost that is negative, too large or not a number counts as the route's maximum, and
// that a cost of 0 or an empty header counts as 1.
func TestAbsurdCosts(t *testing.T) {
	g := start(t, `
policies: {user: {algorithm: fixed-window, limit: 1000, window: 1h}}
routes: [{key: [{header: X-User}], cost: {header: X-Cost, max: 100}, policies: [user]}]
`, to(t, upstream(t, shows)))
	for i, c := range []struct {
		cost string
		want int64
	}{{"5", 5}, {"0", 1}, {"", 1}, {"-5", 100}, {"99999999999999999999999999", 100}, {"1e3", 100}, {"1, 1", 100}, {"NaN", 100}, {"0x10", 100}, {"+3", 3}, {"٣", 100}, {strings.Repeat("9", 10_000), 100}} {
		user := fmt.Sprint("u", i)
		if got := g.send("GET", "/", "X-User: "+user, "X-Cost: "+c.cost); got.status != 200 {
			t.Errorf("%.20q: %d", c.cost, got.status)
		}
		if spent := 1000 - g.remaining("user", user); spent != c.want {
			t.Errorf("%.20q costs %d, want %d", c.cost, spent, c.want)
		}
	}
}

// TestSlowHeader checks that a client that does not finish its request header is disconnected.
func TestSlowHeader(t *testing.T) {
	g := gateway.New(gateway.Config{Logger: discard})
	defer g.Close()
	s := g.Server(discard)
	if s.ReadHeaderTimeout != 10*time.Second || s.IdleTimeout != 2*time.Minute {
		t.Errorf("%v %v", s.ReadHeaderTimeout, s.IdleTimeout)
	}
	s.ReadHeaderTimeout = 50 * time.Millisecond
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(g.Listen(l)) }()
	defer func() { s.Close(); <-served }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n")
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if text, err := io.ReadAll(bufio.NewReader(c)); err != nil || strings.Contains(string(text), "200") {
		t.Errorf("%q %v", text, err)
	}
}

// TestAmbiguousTargetsOverHTTP2 checks that a target that does not begin with a slash does not reach the upstream.
func TestAmbiguousTargetsOverHTTP2(t *testing.T) {
	var arrived atomic.Int64
	g := start(t, "policies: {p: {"+hour+"}}\nroutes: [{match: {path: /login}, key: [{const: all}], policies: [p]}]", to(t, upstream(t, func(http.ResponseWriter, *http.Request) { arrived.Add(1) })))
	for path, want := range map[string]string{"x:http://h/login": "400", "mailto:login": "400", "*": "400", "login": "400", "/login": "200"} {
		if got := statusOverHTTP2(t, g.address, path); got != want && (want != "400" || got != "reset") {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if arrived.Load() != 1 {
		t.Errorf("%d requests came to the upstream, want 1", arrived.Load())
	}
}

// statusOverHTTP2 is statusOfHTTP2 for a target.
func statusOverHTTP2(t *testing.T, address, path string) string {
	t.Helper()
	return statusOfHTTP2(t, address, [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "h"}, {":path", path}})
}
