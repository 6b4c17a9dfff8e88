package gateway_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate/headgate/server/internal/gateway"
)

const refunding = `
policies: {pace: {algorithm: pacer, rate: 1000/s, burst: 5, max_queue: 5}, user: {` + hour + `}, bucket: {algorithm: token-bucket, rate: 3/1h}, both: {all: [user, bucket]}}
routes:
  - {match: {path: /refund}, key: [{const: all}], policies: [both], refund_on_error: true}
  - {match: {path: /keep}, key: [{const: all}], policies: [both]}
  - {match: {path: /each}, charge: [{policy: user, key: [{const: one}], cost: 2}, {policy: bucket, key: [{const: two}]}], refund_on_error: true}
  - {match: {path: /paced}, key: [{const: all}], policies: [pace, both]}
`

func (r *running) left(t testing.TB, want int64, when string) {
	t.Helper()
	if user, bucket := r.remaining("user", "all"), r.remaining("bucket", "all"); user != want || bucket != want {
		t.Errorf("%s: %d and %d left, want %d", when, user, bucket, want)
	}
}

// TestUpstreamAway checks that a request to an unreachable upstream gets a 502, and that its units stay spent unless
// the route refunds errors.
func TestUpstreamAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // nothing listens on the address now
	g := start(t, refunding, to(t, "http://"+l.Addr().String()))
	for range 5 {
		got := g.send("GET", "/refund")
		if got.status != 502 || got.header.Get("Content-Type") != "application/problem+json" || strings.Contains(got.body, l.Addr().String()) {
			t.Errorf("%+v", got)
		}
		g.left(t, 3, "refunded")
	}
	g.send("GET", "/keep")
	g.left(t, 2, "kept")
	g.send("GET", "/paced")
	g.left(t, 1, "kept on a route with a pacer")
	g.send("GET", "/each")
	if user, bucket := g.remaining("user", "one"), g.remaining("bucket", "two"); user != 3 || bucket != 3 {
		t.Errorf("%d and %d left of two keys, want 3", user, bucket)
	}
	if s := g.Stats(); s.Undone != 6 || s.Upstreams[0].Away != 8 {
		t.Errorf("%+v", s)
	}
}

// dies starts an upstream that reads a request, writes the text that write returns for it, and closes the connection.
// It returns the upstream's URL.
func dies(t testing.TB, write func(request string) string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			request := make([]byte, 64<<10)
			n, _ := c.Read(request)
			_, _ = io.WriteString(c, write(string(request[:n])))
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "http://" + l.Addr().String()
}

// TestUpstreamDies checks failures before and after the response header. Before the header, the units are returned
// once, even if the transport has tried twice. After it, they stay spent, and the client receives a truncated body.
func TestUpstreamDies(t *testing.T) {
	var written atomic.Value
	written.Store("")
	g := start(t, refunding, to(t, dies(t, func(string) string { return written.Load().(string) })))
	g.client.Transport = &http.Transport{DisableKeepAlives: true} // on a reused connection it would retry
	for _, c := range []struct {
		written string
		status  int
		left    int64
	}{
		{"", 502, 3},
		{"HTTP/1.1 200 OK\r\nContent-Le", 502, 3},
		{"nonsense\r\n\r\n", 502, 3},
		{"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", 100<<10) + "\r\n\r\n", 502, 3},
		{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", 0, 2}, // the gateway has not sent the header yet
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n", 200, 1},
		{"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", 500, 0},
	} {
		written.Store(c.written)
		got := g.send("GET", "/refund")
		if got.status != c.status || (c.status < 500) != (got.err != nil) {
			t.Errorf("%.60q: %d %v, want %d", c.written, got.status, got.err, c.status)
		}
		g.left(t, c.left, c.written[:min(len(c.written), 60)])
	}
	if s := g.Stats(); s.Undone != 4 {
		t.Errorf("%+v", s)
	}
}

// TestFailedUpgrade checks that the units stay spent although the answer is a 502, because the upstream's response
// header had arrived.
func TestFailedUpgrade(t *testing.T) {
	g := start(t, refunding, to(t, dies(t, func(string) string {
		return "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n"
	})))
	got := exchange(t, g.address, "GET /refund HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 502 ") {
		t.Errorf("%q", got)
	}
	g.left(t, 2, "after the header")
	if s := g.Stats(); s.Undone != 0 || s.Upstreams[0].Away != 0 || s.Upstreams[0].Answers[1] != 1 {
		t.Errorf("%+v", s)
	}
}

// TestSlowUpstream checks that the answer after the timeout is a 504, and that the route refunds the units.
func TestSlowUpstream(t *testing.T) {
	release := make(chan struct{})
	url := upstream(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	set := to(t, url)
	g := start(t, refunding, func(c *gateway.Config) { set(c); c.UpstreamTimeout = 50 * time.Millisecond })
	if got := g.send("GET", "/refund"); got.status != 504 || !strings.Contains(got.body, "did not answer in time") {
		t.Errorf("%+v", got)
	}
	g.left(t, 3, "refunded")
	if s := g.Stats(); s.Upstreams[0].Slow != 1 {
		t.Errorf("%+v", s)
	}
}

// TestDisconnectedClientPays checks that a client that disconnects is still charged. Otherwise a client could send any
// number of requests for free.
func TestDisconnectedClientPays(t *testing.T) {
	arrived := make(chan struct{}, 1)
	g := start(t, refunding, to(t, upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	})))
	ctx, leave := context.WithCancel(context.Background())
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.address+"/refund", nil)
	left := make(chan struct{})
	go func() {
		defer close(left)
		g.do(request)
	}()
	<-arrived
	leave()
	<-left
	until(t, "the request has ended", func() bool { return g.Stats().InFlight == 0 })
	g.left(t, 2, "left")
	if s := g.Stats(); s.Upstreams[0].ClientGone != 1 || s.Undone != 0 {
		t.Errorf("%+v", s)
	}
}

// TestStalledBody checks that a client that does not send its announced body gets a 408, or a 400 if the body is
// malformed, and that this does not count as a failure of the upstream.
func TestStalledBody(t *testing.T) {
	set := to(t, upstream(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	g := start(t, refunding, func(c *gateway.Config) { set(c); c.StallTimeout = 100 * time.Millisecond })
	if got := exchange(t, g.address, "POST /refund HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc"); !strings.HasPrefix(got, "HTTP/1.1 408 ") || !strings.Contains(got, "Connection: close") {
		t.Errorf("%q", got)
	}
	g.left(t, 2, "a body that stops")
	if got := exchange(t, g.address, "POST /refund HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n"); !strings.HasPrefix(got, "HTTP/1.1 400 ") {
		t.Errorf("%q", got)
	}
	g.left(t, 1, "a malformed body")
	if s := g.Stats(); s.Upstreams[0].ClientGone != 2 || s.Undone != 0 {
		t.Errorf("%+v", s)
	}
}

// TestSlowButSteadyBody checks that a slow but steady body is not cut off: the stall timeout applies to each read,
// and not to the wait for the answer after the body.
func TestSlowButSteadyBody(t *testing.T) {
	set := to(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		time.Sleep(1700 * time.Millisecond) // longer than the stall timeout
		_, _ = w.Write(body)
	}))
	g := start(t, refunding, func(c *gateway.Config) { set(c); c.StallTimeout = 1500 * time.Millisecond })
	http2 := &http.Transport{Protocols: new(http.Protocols)}
	http2.Protocols.SetUnencryptedHTTP2(true)
	defer http2.CloseIdleConnections()
	for _, transport := range []*http.Transport{new(http.Transport), http2} {
		g.client.Transport = transport
		body, writer := io.Pipe()
		go func() {
			for range 5 {
				time.Sleep(400 * time.Millisecond) // in total also longer than the stall timeout
				_, _ = io.WriteString(writer, "x")
			}
			writer.Close()
		}()
		request, _ := http.NewRequest(http.MethodPost, "http://"+g.address+"/keep", body)
		if got := g.do(request); got.status != 200 || got.body != "xxxxx" {
			t.Errorf("%+v", got)
		}
		transport.CloseIdleConnections()
	}
}

// TestClientDoesNotRead checks that a client that does not read is disconnected, and that its upstream connection
// is closed.
func TestClientDoesNotRead(t *testing.T) {
	ended := make(chan struct{})
	set := to(t, upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		defer close(ended)
		for block := make([]byte, 1<<20); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}))
	g := start(t, refunding, func(c *gateway.Config) { set(c); c.StallTimeout = 200 * time.Millisecond })
	c, err := net.Dial("tcp", g.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "GET /keep HTTP/1.1\r\nHost: a\r\n\r\n")
	<-ended
	until(t, "the request has ended", func() bool { return g.Stats().InFlight == 0 })
}
