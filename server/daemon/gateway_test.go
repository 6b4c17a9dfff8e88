package daemon_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/daemon"
)

// gatewayTo writes a policies file and returns the configuration of a gateway that uses it.
func gatewayTo(t *testing.T, file, upstream string) daemon.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policies.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	base, err := policy.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	g := &daemon.GatewayConfig{StallTimeout: 10 * time.Second, MaxWaiting: 10, ReadyPath: "/readyz"}
	if upstream != "" {
		if g.Upstream, err = route.ParseUpstream("(default)", upstream); err != nil {
			t.Fatal(err)
		}
	}
	return daemon.Config{RESP: daemon.Off, HTTP: "127.0.0.1:0", ConfigFile: path, Base: base, Gateway: g, Drain: time.Hour}
}

// TestGatewayDrains checks that readiness ends at once, that a request in flight at the upstream is answered, and
// that a websocket ends with the gateway.
func TestGatewayDrains(t *testing.T) {
	arrived, release := make(chan struct{}, 1), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			arrived <- struct{}{}
			<-release
			return
		}
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		w.WriteHeader(http.StatusSwitchingProtocols)
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			defer c.Close()
			_, _ = io.Copy(io.Discard, c)
		}
	}))
	defer s.Close()
	d := start(t, gatewayTo(t, "policies: {api: 100/s}", s.URL))
	ctx, stop := context.WithCancel(context.Background())
	stopNow, endDrain := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx, stopNow) }()
	address := d.HTTPAddr().String()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	status := func(path string) int {
		r, err := client.Get("http://" + address + path)
		if err != nil {
			t.Error(err)
			return 0
		}
		defer r.Body.Close()
		return r.StatusCode
	}
	if got := status("/readyz"); got != http.StatusOK {
		t.Fatalf("ready: %d", got)
	}
	socket, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	_ = socket.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprint(socket, "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	reader := bufio.NewReader(socket)
	if line, err := reader.ReadString('\n'); err != nil || !strings.Contains(line, " 101 ") {
		t.Fatalf("%q %v", line, err)
	}
	slow := make(chan int, 1)
	go func() { slow <- status("/slow") }()
	<-arrived
	stop()
	for status("/readyz") == http.StatusOK { // until Run has noticed
	}
	endDrain()
	close(release)
	if got := <-slow; got != http.StatusOK {
		t.Errorf("a request during the drain: %d", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := io.Copy(io.Discard, reader); err != nil { // until it is closed
		t.Errorf("the websocket: %v", err)
	}
}

// TestGatewayWithoutUpstream checks that a file that leaves some requests without an upstream is rejected at the
// start. When such a file is loaded later, it is accepted, and these requests get a 502.
func TestGatewayWithoutUpstream(t *testing.T) {
	const with = `
policies: {api: 100/s}
upstreams: {a: "http://127.0.0.1:1"}
routes: [{match: {path: /a}, key: [{const: all}], policies: [api], upstream: a}]
`
	without := strings.ReplaceAll(with, ", upstream: a", "")
	for _, c := range []struct {
		file string
		deny bool
		ok   bool
	}{{with, true, true}, {with, false, false}, {without, true, false}} {
		config := gatewayTo(t, c.file, "")
		config.Gateway.DenyUnmatched, config.Logger = c.deny, quiet
		d, err := daemon.New(context.Background(), config)
		if c.ok != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), "--upstream is not set; accepted: ") {
			t.Errorf("%t %s: %v", c.deny, c.file, err)
		}
		if err != nil {
			continue
		}
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx, ctx) }()
		if err := os.WriteFile(config.ConfigFile, []byte(without), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := d.Reload(context.Background()); err != nil {
			t.Error(err)
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		r, err := client.Get("http://" + d.HTTPAddr().String() + "/a")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != http.StatusBadGateway || !strings.Contains(string(body), "no upstream is for this request") {
			t.Errorf("%d %s", r.StatusCode, body)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
