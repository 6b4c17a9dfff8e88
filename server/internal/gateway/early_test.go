package gateway_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/server/internal/gateway"
)

const denied = `
policies: {none: deny}
routes: [{key: [{const: all}], policies: [none]}]
`

// withoutBody sends a request without its body. It returns the status of the answer, "close" if the answer closes the
// connection, the latency, and the error of a read after the answer.
func withoutBody(t *testing.T, address, request string) (status int, connection string, took time.Duration, rest error) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	began := time.Now()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	from := bufio.NewReader(c)
	r, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatalf("%q: no answer: %v", request, err)
	}
	took = time.Since(began)
	_, _ = io.Copy(io.Discard, r.Body)
	r.Body.Close()
	if r.Close {
		connection = "close"
	}
	_, rest = from.ReadByte()
	return r.StatusCode, connection, took, rest
}

// TestAnswersWithoutTheBody (regression: bug 70): the gateway's own answers do not wait for a missing body, and the
// connection is closed. net/http would read the body first.
func TestAnswersWithoutTheBody(t *testing.T) {
	const announced = "Host: a\r\nContent-Length: 100\r\n"
	nowhere := func(*gateway.Config) {}
	somewhere := to(t, upstream(t, func(http.ResponseWriter, *http.Request) {}))
	for _, c := range []struct {
		name, file, request string
		set                 func(*gateway.Config)
		want                int
	}{
		{"denied", denied, "POST / HTTP/1.1\r\n" + announced + "\r\n", somewhere, 429},
		{"denied, with a part of the body", denied, "POST / HTTP/1.1\r\n" + announced + "\r\nabc", somewhere, 429},
		{"denied, in chunks", denied, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", somewhere, 429},
		{"denied, a large body", denied, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\nabc", somewhere, 429},
		{"denied, before 100 Continue", denied, "POST / HTTP/1.1\r\n" + announced + "Expect: 100-continue\r\n\r\n", somewhere, 429},
		{"an ambiguous target", denied, "POST x:http://h/ HTTP/1.1\r\n" + announced + "\r\n", somewhere, 400},
		{"CONNECT", denied, "CONNECT h:80 HTTP/1.1\r\n" + announced + "\r\n", somewhere, 405},
		{"no upstream", unlimited, "POST / HTTP/1.1\r\n" + announced + "\r\n", nowhere, 502},
		{"an upstream that is away", unlimited, "POST / HTTP/1.1\r\n" + announced + "\r\n", to(t, "http://127.0.0.1:1"), 502},
		{"readiness", denied, "GET /readyz HTTP/1.1\r\n" + announced + "\r\n", nowhere, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := start(t, c.file, func(config *gateway.Config) {
				c.set(config)
				config.StallTimeout, config.ReadyPath = time.Hour, "/readyz" // longer than the test runs
			})
			status, connection, took, rest := withoutBody(t, g.address, c.request)
			if status != c.want || connection != "close" || rest != io.EOF {
				t.Errorf("%d, connection %q, then %v; want %d, and the connection closed", status, connection, rest, c.want)
			}
			if took > 10*time.Second { // it takes 50 ms on an idle machine
				t.Errorf("the answer took %v", took)
			}
		})
	}
}

// TestBodyOfADeniedRequestKeepsTheConnection checks that a body that arrived with its header is read, and the
// connection is reused for the next request.
func TestBodyOfADeniedRequestKeepsTheConnection(t *testing.T) {
	g := start(t, denied, to(t, upstream(t, func(http.ResponseWriter, *http.Request) {})))
	g.SetUnreadWait(time.Minute)
	c, err := net.Dial("tcp", g.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	from := bufio.NewReader(c)
	for _, request := range []string{
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100_000),
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		r, err := http.ReadResponse(from, nil)
		if err != nil {
			t.Fatalf("%.60q: %v", request, err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
		if r.StatusCode != http.StatusTooManyRequests || r.Close {
			t.Errorf("%.60q: %d, close %t", request, r.StatusCode, r.Close)
		}
	}
}

// TestSlowBodyIsEnded (regression: bug 70): if a client sends a body too slowly, it gets a 408, its connection is closed, and
// its slot in the gateway is freed. The stall timeout alone would let it send a byte now and then.
func TestSlowBodyIsEnded(t *testing.T) {
	set := to(t, upstream(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	g := start(t, unlimited, func(c *gateway.Config) {
		set(c)
		c.StallTimeout, c.BodyRate = time.Hour, 1024
	})
	g.SetBodyWindow(200 * time.Millisecond)
	for _, header := range []string{"Content-Length: 100000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nfffff\r\n"} {
		c, err := net.Dial("tcp", g.address)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			_, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\n"+header)
			for tick := time.Tick(10 * time.Millisecond); err == nil; {
				select {
				case <-tick:
					_, err = io.WriteString(c, "x")
				case <-stop:
					return
				}
			}
		}()
		from := bufio.NewReader(c)
		r, err := http.ReadResponse(from, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
		close(stop)
		<-stopped
		if r.StatusCode != http.StatusRequestTimeout || !r.Close {
			t.Errorf("%q: %d, close %t", header, r.StatusCode, r.Close)
		}
		if _, err := from.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: the connection is still open: %v", header, err)
		}
		c.Close()
	}
	until(t, "its place is free", func() bool { return g.Stats().InFlight == 0 })
}
