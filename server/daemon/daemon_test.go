package daemon_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/server/daemon"
	"github.com/headgate/headgate/server/internal/resp/resptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.DiscardHandler)

func start(t testing.TB, c daemon.Config) *daemon.Daemon {
	t.Helper()
	c.Logger = quiet
	d, err := daemon.New(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// running starts a server and runs it until the test ends.
func running(t testing.TB, c daemon.Config) *daemon.Daemon {
	t.Helper()
	d := start(t, c)
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

// TestDrainAnswersRequests checks that readiness ends at once, that requests are answered until the end of the drain,
// including those read before it, and that Run returns nil.
func TestDrainAnswersRequests(t *testing.T) {
	d := start(t, daemon.Config{RESP: "127.0.0.1:0", HTTP: "127.0.0.1:0", Drain: time.Hour})
	ctx, stop := context.WithCancel(context.Background())
	stopNow, endDrain := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx, stopNow) }()

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	url := "http://" + d.HTTPAddr().String()
	status := func(path string) int {
		r, err := client.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		return r.StatusCode
	}
	if got := status("/readyz"); got != http.StatusOK {
		t.Fatalf("ready: %d", got)
	}
	conn, err := net.Dial("tcp", d.RESPAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	replies := bufio.NewReader(conn)
	if _, err := conn.Write(resptest.AppendCommand(nil, "PING")); err != nil {
		t.Fatal(err)
	}
	if _, err := resptest.Read(replies); err != nil { // the server has accepted the connection
		t.Fatal(err)
	}
	stop()
	for status("/readyz") == http.StatusOK { // until Run has noticed
	}
	if got := status("/healthz"); got != http.StatusOK {
		t.Errorf("healthz while draining: %d", got)
	}
	if _, err := conn.Write(resptest.AppendCommand(nil, "CL.THROTTLE", "k", "15", "30", "60")); err != nil {
		t.Fatal(err)
	}
	endDrain()
	v, err := resptest.Read(replies)
	if err != nil || len(v.Items) != 5 || v.Items[2].Int != 15 {
		t.Errorf("a command that was sent before the end: %+v, %v", v, err)
	}
	if err := <-done; err != nil {
		t.Errorf("run: %v", err)
	}
	if _, err := net.Dial("tcp", d.RESPAddr().String()); err == nil {
		t.Error("the server still accepts connections")
	}
}

// TestWithoutLogger checks that a server without a logger starts and stops without an error.
func TestWithoutLogger(t *testing.T) {
	d, err := daemon.New(t.Context(), daemon.Config{RESP: "127.0.0.1:0", HTTP: "127.0.0.1:0", Admin: daemon.AdminConfig{Address: "127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := d.Run(ctx, ctx); err != nil {
		t.Error(err)
	}
}

func TestNewRejectsInvalidConfigurations(t *testing.T) {
	taken := start(t, daemon.Config{RESP: "127.0.0.1:0", HTTP: daemon.Off})
	defer func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := taken.Run(ctx, ctx); err != nil {
			t.Error(err)
		}
	}()
	for want, c := range map[string]daemon.Config{
		"both off": {RESP: daemon.Off, HTTP: daemon.Off},
		": bind: address already in use; accepted: an address that no other program listens on": {RESP: taken.RESPAddr().String(), HTTP: "127.0.0.1:0"},
		"--http ":                 {RESP: "127.0.0.1:0", HTTP: taken.RESPAddr().String()},
		"max_keys is -1":          {RESP: "127.0.0.1:0", HTTP: daemon.Off, StoreOptions: open.Options{Memory: memstore.Config{MaxKeys: -1}}},
		"missing port in address": {RESP: "nonsense", HTTP: daemon.Off},
	} {
		c.Logger = quiet
		if _, err := daemon.New(context.Background(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
}

// BenchmarkHTTP measures decisions over loopback, with 1 and with 100 decisions per request.
func BenchmarkHTTP(b *testing.B) {
	one := `{"key":"k","limit":"100/s"}`
	for name, body := range map[string]string{"one": one, "batch100": `{"requests":[` + strings.Repeat(one+",", 99) + one + `]}`} {
		b.Run(name, func(b *testing.B) {
			d := start(b, daemon.Config{RESP: daemon.Off, HTTP: "127.0.0.1:0"})
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() { done <- d.Run(ctx, ctx) }()
			transport := &http.Transport{MaxIdleConnsPerHost: 64}
			client := &http.Client{Transport: transport}
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r, err := client.Post("http://"+d.HTTPAddr().String()+"/v1/allow", "application/json", bytes.NewReader([]byte(body)))
					if err != nil {
						b.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					_ = r.Body.Close()
				}
			})
			transport.CloseIdleConnections()
			stop()
			if err := <-done; err != nil {
				b.Error(err)
			}
		})
	}
}
