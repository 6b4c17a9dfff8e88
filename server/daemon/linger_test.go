package daemon_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/headgate/headgate/internal/tlstest"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
)

// TestLargeBodiesGetTheirAnswer checks that a client that sends all of a large body before it reads, as most do, gets
// the answer, and no reset connection (regression: bugs 184, 192): over HTTP, through the gateway and on the admin listener,
// with and without TLS, and after a header that cannot be read.
func TestLargeBodiesGetTheirAnswer(t *testing.T) {
	base, err := (policy.Reader{Gateway: true}).Parse("p.yaml", []byte(`{policies: {none: {deny: true}}, upstreams: {up: "http://127.0.0.1:9"}, routes: [{upstream: up, key: [client_ip], policies: [none]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	files := tlstest.New(t)
	names := policy.TLSFiles{Cert: files.Cert, Key: files.Key}
	for _, secure := range []bool{false, true} {
		dial, use := net.Dial, daemon.TLS{}
		if secure {
			use = daemon.TLS{HTTP: names, Admin: names}
			dial = func(network, to string) (net.Conn, error) { return tls.Dial(network, to, files.Client(t)) }
		}
		d := running(t, daemon.Config{RESP: daemon.Off, HTTP: "127.0.0.1:0", TLS: use, Admin: daemon.AdminConfig{Address: "127.0.0.1:0"}})
		g := running(t, daemon.Config{RESP: daemon.Off, HTTP: "127.0.0.1:0", TLS: use, Base: base, Gateway: &daemon.GatewayConfig{DenyUnmatched: true, StallTimeout: time.Minute}})
		for _, c := range []struct {
			name, path, header string
			to                 net.Addr
			want               int
		}{
			{"HTTP", "/v1/allow", "A: b", d.HTTPAddr(), http.StatusRequestEntityTooLarge},
			{"no such path", "/nope", "A: b", d.HTTPAddr(), http.StatusNotFound},
			{"admin", "/admin/v1/changes", "A: b", d.AdminAddr(), http.StatusBadRequest},
			{"gateway", "/", "A: b", g.HTTPAddr(), http.StatusTooManyRequests},
			{"bad header", "/", "A b: c", g.HTTPAddr(), http.StatusBadRequest},
			{"bad expectation", "/", "Expect: more", d.HTTPAddr(), http.StatusExpectationFailed},
		} {
			t.Run(fmt.Sprintf("%s, TLS %v", c.name, secure), func(t *testing.T) {
				conn, err := dial("tcp", c.to.String())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				const size = 20 << 20
				fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%s\r\nContent-Length: %d\r\n\r\n", c.path, c.to, c.header, size)
				for sent, part := 0, make([]byte, 64<<10); sent < size; sent += len(part) {
					if _, err := conn.Write(part); err != nil {
						t.Fatalf("after %d bytes: %v", sent, err)
					}
				}
				response, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				if response.StatusCode != c.want {
					t.Errorf("%d, want %d", response.StatusCode, c.want)
				}
			})
		}
	}
}
