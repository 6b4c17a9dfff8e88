package daemon

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/gateway"
	"github.com/headgate/headgate/server/internal/peers"
)

// runs runs a daemon until the test ends.
func runs(t *testing.T, c Config) *Daemon {
	t.Helper()
	d, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- d.Run(ctx, ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	return d
}

// TestOnePeerLeavesRoom (regression: bug 70): each listener closes a peer's connections beyond its share. Trusted
// proxies are exempt: here no address, or this machine.
func TestOnePeerLeavesRoom(t *testing.T) {
	upstream, err := route.ParseUpstream("(default)", "http://127.0.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	for _, proxies := range []string{"[]", "[127.0.0.1]"} {
		config, err := policy.Parse("p.yaml", []byte("trusted_proxies: "+proxies+"\npolicies: {p: 1/s}\n"))
		if err != nil {
			t.Fatal(err)
		}
		server := runs(t, Config{RESP: "127.0.0.1:0", HTTP: "127.0.0.1:0", GRPC: GRPC{Address: "127.0.0.1:0"}, Admin: AdminConfig{Address: "127.0.0.1:0"}, Base: config, PeerShare: 1})
		gate := runs(t, Config{RESP: Off, HTTP: "127.0.0.1:0", Base: config, PeerShare: 1, Gateway: &GatewayConfig{Upstream: upstream, StallTimeout: time.Minute, ReadyPath: "/readyz"}})
		if server.http.ConnState == nil || gate.http.ConnState == nil {
			t.Error("connections of HTTP with a request count as idle")
		}
		for _, l := range []struct {
			name, ask, want string
			address         net.Addr
			share           int
		}{
			{"RESP", "PING\r\n", "+PONG", server.RESPAddr(), server.conns / 100},
			{"HTTP", "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200", server.HTTPAddr(), server.conns / 100},
			{"gRPC", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", "\x00\x00", server.GRPCAddr(), server.conns / 100},
			{"admin", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 ", server.AdminAddr(), maxAdminConns / 100},
			{"gateway", "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200", gate.HTTPAddr(), gate.conns / 100},
		} {
			for i := range l.share + 3 {
				got := asked(t, l.address, l.ask)
				served := strings.HasPrefix(got, l.want)
				if want := i < l.share || proxies != "[]"; served != want {
					t.Errorf("trusted %s, %s: connection %d is answered %.40q, want served %t of a share of %d", proxies, l.name, i, got, want, l.share)
					break
				}
			}
		}
	}
}

// TestIdleAdminMakesRoom checks that idle connections to the admin listener do not keep operators and Prometheus out
// (regression: bug 100).
func TestIdleAdminMakesRoom(t *testing.T) {
	server := runs(t, Config{RESP: Off, HTTP: "127.0.0.1:0", Admin: AdminConfig{Address: "127.0.0.1:0"}})
	const ask = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for range maxAdminConns {
		asked(t, server.AdminAddr(), ask)
	}
	time.Sleep(1100 * time.Millisecond) // an idle connection is left alone for a second
	for i := range 5 {
		if got := asked(t, server.AdminAddr(), ask); !strings.HasPrefix(got, "HTTP/1.1 200") {
			t.Fatalf("connection %d: %q", i, got)
		}
		time.Sleep(150 * time.Millisecond)
	}
}

// asked opens a connection that stays open until the test ends, sends text, and returns the answer.
func asked(t *testing.T, address net.Addr, send string) string {
	t.Helper()
	c, err := net.Dial("tcp", address.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(c, send) // the server may have closed it
	answer := make([]byte, 64)
	n, _ := c.Read(answer)
	return string(answer[:n])
}

// TestShareOfAListener checks that a peer's connections beyond its share are closed, that this is logged once, and
// that closing a connection makes room for another.
func TestShareOfAListener(t *testing.T) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := new(shared)
	l := bound(plain, "http", 20, peers.Rule{Percent: 25}, slog.New(slog.NewTextHandler(log, nil)))
	accepted := make(chan net.Conn, 20)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", plain.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	for range 5 {
		dial()
	}
	own := []net.Conn{<-accepted, <-accepted, <-accepted, <-accepted, <-accepted}
	for range 3 {
		if n, err := dial().Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("a connection beyond the share: %d bytes, %v", n, err)
		}
	}
	own[0].Close()
	own[0].Close()
	dial()
	own[0] = <-accepted
	if n, err := dial().Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("a connection was closed twice, and gave two places back: %d bytes, %v", n, err)
	}
	if lines := log.String(); strings.Count(lines, "\n") != 1 || !strings.Contains(lines, `msg="http: a peer has used its share of connections, and further ones are closed" peer=127.0.0.1:`) {
		t.Errorf("the log has %q, want one line", lines)
	}
	l.Close()
	<-ended
	for _, c := range own {
		c.Close()
	}
}

// TestGatewayHasShares (regression: bug 70): the share also applies to the gateway's requests.
func TestGatewayHasShares(t *testing.T) {
	config, err := policy.Parse("p.yaml", []byte(`
policies: {slow: {algorithm: pacer, rate: 1/h, max_wait: 100h}}
routes: [{key: [client_ip], policies: [slow]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	upstream, err := route.ParseUpstream("(default)", "http://127.0.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	d := runs(t, Config{RESP: Off, HTTP: "127.0.0.1:0", Base: config, Gateway: &GatewayConfig{Upstream: upstream, StallTimeout: time.Minute, MaxWaiting: 4}})
	ctx, leave := context.WithTimeout(t.Context(), 20*time.Second)
	get := func() (int, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.HTTPAddr().String()+"/", nil)
		if err != nil {
			return 0, err
		}
		r.Header.Set("X-Forwarded-For", "192.0.2.1")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err
		}
		return answer.StatusCode, answer.Body.Close()
	}
	if status, err := get(); status != http.StatusBadGateway {
		t.Fatalf("a request whose turn is now: %d %v", status, err)
	}
	left := make(chan error, 1)
	go func() {
		_, err := get()
		left <- err
	}()
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(gateway.Metrics.Of(func() *gateway.Gateway { return d.gateway }))
	count := func(series string) int {
		w := httptest.NewRecorder()
		promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		_, rest, _ := strings.Cut(w.Body.String(), "\n"+series+" ")
		number, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("%s: %v", series, err)
		}
		return n
	}
	for count("headgate_gateway_requests_waiting") == 0 { // until the request waits
		runtime.Gosched()
	}
	if status, err := get(); status != http.StatusServiceUnavailable || count(`headgate_gateway_over_share_total{bound="waiting"}`) != 1 {
		t.Errorf("a second request of a quarter of 4 places: %d %v", status, err)
	}
	leave()
	if err := <-left; err == nil {
		t.Error("the first request did not wait")
	}
}
