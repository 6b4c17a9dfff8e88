package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/daemon"
)

// leastHostile is the minimum number of hostile cases.
const leastHostile = 60

// hostileCase is an attack on a listener.
type hostileCase struct {
	name string
	to   string // resp, http or grpc
	send string // bytes sent on a connection, which is then read until it is silent
	do   func(t *testing.T, address string)
	// want must be contained in the server's answer. If it is "", the answer is not checked, because the server may
	// close the connection at once.
	want string
}

// hostileWorld is a server under attack. One of its keys has used up its limit.
type hostileWorld struct {
	addresses map[string]string
	stop      func()
}

const hostileFile = `
policies:
  api:  {algorithm: fixed-window, limit: 5, window: 1d}
  free: {algorithm: token-bucket, rate: 1000000/s, burst: 1000000}
routes: [{match: {path: "/**"}, key: [{header: X-User}], policies: [free]}]
`

func newHostileWorld(t *testing.T) *hostileWorld {
	t.Helper()
	config, err := policy.Parse("p.yaml", []byte(hostileFile))
	if err != nil {
		t.Fatal(err)
	}
	d := start(t, daemon.Config{
		RESP: "127.0.0.1:0", HTTP: "127.0.0.1:0", Base: config,
		StoreOptions: open.Options{Memory: memstore.Config{MaxKeys: 4000, MaxKeysOf: map[string]int{decide.InlineSpace: 2000}}},
		GRPC:         daemon.GRPC{Address: "127.0.0.1:0", EnvoyConfig: envoyDirectory(t, envoyFile)},
	})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx, ctx) }()
	w := &hostileWorld{addresses: map[string]string{
		"resp": d.RESPAddr().String(), "http": d.HTTPAddr().String(), "grpc": d.GRPCAddr().String(),
	}, stop: func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}}
	for range 5 {
		if status := w.take(t, "api", "victim"); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	return w
}

// take sends a take over HTTP on a new connection, and returns the status.
func (w *hostileWorld) take(t *testing.T, name, key string) int {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	answer, err := client.Post("http://"+w.addresses["http"]+"/v1/allow", "application/json", strings.NewReader(fmt.Sprintf(`{"policy":%q,"key":%q}`, name, key)))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

// TestHostileCases checks that whatever a client sends, the server keeps working, no limit is reset, and rejections
// describe the mistake.
func TestHostileCases(t *testing.T) {
	w := newHostileWorld(t)
	defer w.stop()
	cases := append(append(hostileRESP(), hostileHTTP()...), hostileGRPC()...)
	if len(cases) < leastHostile {
		t.Errorf("%d cases, want at least %d", len(cases), leastHostile)
	}
	for _, c := range cases {
		t.Run(c.to+"/"+c.name, func(t *testing.T) {
			if c.do != nil {
				c.do(t, w.addresses[c.to])
			} else if got := exchangeRaw(t, w.addresses[c.to], c.send, c.want); !strings.Contains(got, c.want) {
				t.Errorf("answered %.300q, want %q", got, c.want)
			}
			if status := w.take(t, "api", "victim"); status != http.StatusTooManyRequests {
				t.Fatalf("the limit was reset: status %d", status)
			}
			if status := w.take(t, "free", "somebody"); status != http.StatusOK {
				t.Fatalf("the server does not go on: status %d", status)
			}
		})
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > 200; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines are left", runtime.NumGoroutine())
		}
	}
}

// exchangeRaw sends bytes. It returns the answer once the connection closes, or once the answer contains want and the
// connection is silent.
func exchangeRaw(t *testing.T, address, send, want string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() { _, _ = io.WriteString(conn, send) }() // the server may close the connection first
	var got bytes.Buffer
	piece := make([]byte, 64<<10)
	for {
		silence := 150 * time.Millisecond
		if !strings.Contains(got.String(), want) {
			silence = 20 * time.Second // allows for a busy machine
		}
		_ = conn.SetReadDeadline(time.Now().Add(silence))
		n, err := conn.Read(piece)
		got.Write(piece[:n])
		if err != nil || got.Len() > 1<<20 {
			return got.String()
		}
	}
}

// flood returns an attack that opens connections, sends bytes on each, and keeps them open until the end of the test.
func flood(connections int, send string) func(*testing.T, string) {
	return func(t *testing.T, address string) {
		t.Helper()
		for range connections {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			if _, err := io.WriteString(conn, send); err != nil && !errors.Is(err, net.ErrClosed) {
				return // the server is closing connections
			}
		}
	}
}

// unread returns an attack that sends requests without reading the answers, until the server stops reading.
func unread(request string, most int) func(*testing.T, string) {
	return func(t *testing.T, address string) {
		t.Helper()
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		many := strings.Repeat(request, 1000)
		for range most {
			_ = conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
			if _, err := io.WriteString(conn, many); err != nil {
				return
			}
		}
	}
}

// dripping returns an attack that sends bytes one at a time, and then disconnects.
func dripping(send string) func(*testing.T, string) {
	return func(t *testing.T, address string) {
		t.Helper()
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for i := range len(send) {
			if _, err := conn.Write([]byte{send[i]}); err != nil {
				return
			}
		}
	}
}
