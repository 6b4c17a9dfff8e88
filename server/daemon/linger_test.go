package daemon_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
)

// A client that sends all of a large body before it reads, as most do, gets the answer to it, and no reset connection:
// over HTTP, through the gateway and on the admin listener (regression: bug 184).
func TestLargeBodiesGetTheirAnswer(t *testing.T) {
	base, err := (policy.Reader{Gateway: true}).Parse("p.yaml", []byte(`{policies: {none: {deny: true}}, upstreams: {up: "http://127.0.0.1:9"}, routes: [{upstream: up, key: [client_ip], policies: [none]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	d := running(t, daemon.Config{RESP: daemon.Off, HTTP: "127.0.0.1:0", Admin: daemon.AdminConfig{Address: "127.0.0.1:0"}})
	g := running(t, daemon.Config{RESP: daemon.Off, HTTP: "127.0.0.1:0", Base: base, Gateway: &daemon.GatewayConfig{DenyUnmatched: true, StallTimeout: time.Minute}})
	for _, c := range []struct {
		name, path string
		to         net.Addr
		want       int
	}{
		{"HTTP", "/v1/allow", d.HTTPAddr(), http.StatusRequestEntityTooLarge},
		{"no such path", "/nope", d.HTTPAddr(), http.StatusNotFound},
		{"admin", "/admin/v1/changes", d.AdminAddr(), http.StatusBadRequest},
		{"gateway", "/", g.HTTPAddr(), http.StatusTooManyRequests},
	} {
		conn, err := net.Dial("tcp", c.to.String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		const size = 20 << 20
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", c.path, c.to, size)
		for sent, part := 0, make([]byte, 64<<10); sent < size; sent += len(part) {
			if _, err := conn.Write(part); err != nil {
				t.Fatalf("%s: after %d bytes: %v", c.name, sent, err)
			}
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		defer response.Body.Close()
		if response.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", c.name, response.StatusCode, c.want)
		}
	}
}
