package daemon_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"testing"
	"time"

	"github.com/headgate/headgate/server/daemon"
)

// While a server drains, each answer ends its connection, over HTTP/1.1 and HTTP/2. Otherwise a client keeps the
// connection until the server closes it, and loses a request that it sends at this moment (regression: bug 134).
func TestDrainEndsConnections(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	defer upstream.Close()
	const file = `
policies: {none: {deny: true}}
routes: [{match: {path: /denied}, key: [{const: all}], policies: [none]}]
`
	for name, c := range map[string]struct {
		config daemon.Config
		paths  []string
		http2  bool
	}{
		"gateway":         {gatewayTo(t, file, upstream.URL), []string{"/passed", "/denied"}, false},
		"gateway, HTTP/2": {gatewayTo(t, file, upstream.URL), []string{"/passed", "/denied"}, true},
		"HTTP API":        {daemon.Config{RESP: daemon.Off, HTTP: "127.0.0.1:0", Drain: time.Hour}, []string{"/v1/policies", "/nothing"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, c.config)
			ctx, stop := context.WithCancel(t.Context())
			stopNow, endDrain := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- d.Run(ctx, stopNow) }()
			transport := &http.Transport{Protocols: new(http.Protocols)}
			transport.Protocols.SetHTTP1(!c.http2)
			transport.Protocols.SetUnencryptedHTTP2(c.http2)
			defer transport.CloseIdleConnections()
			call := func(path string) (status int, reused bool) {
				trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused }}
				r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet, "http://"+d.HTTPAddr().String()+path, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				answer, err := transport.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				defer answer.Body.Close()
				_, _ = io.Copy(io.Discard, answer.Body)
				return answer.StatusCode, reused
			}
			call(c.paths[0])
			if _, reused := call(c.paths[0]); !reused {
				t.Fatal("a connection is not kept before the drain")
			}
			stop()
			for range 1000 { // until Run has noticed
				if status, _ := call(daemon.ReadyPath); status != http.StatusOK {
					break
				}
			}
			for _, path := range append(c.paths, daemon.AlivePath) {
				if _, reused := waitForGoAway(call, path, c.http2); reused {
					t.Errorf("%s: the connection of the answer before is kept", path)
				}
			}
			endDrain()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// waitForGoAway makes a call. The GOAWAY of an HTTP/2 connection can arrive after the answer, so it makes a few calls
// until one of them has another connection.
func waitForGoAway(call func(path string) (int, bool), path string, http2 bool) (status int, reused bool) {
	for range 20 {
		if status, reused = call(path); !reused || !http2 {
			return status, reused
		}
		time.Sleep(10 * time.Millisecond)
	}
	return status, reused
}

// Probes of a gateway are not counted, need no user, and do not reach the upstream (regression: bug 135).
func TestProbesOfAGateway(t *testing.T) {
	reached := 0
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	defer upstream.Close()
	d := running(t, gatewayTo(t, "policies: {none: {deny: true}}\nroutes: [{key: [{const: all}], policies: [none]}]\n", upstream.URL))
	for path, want := range map[string]int{daemon.AlivePath: 200, daemon.ReadyPath: 200, "/healthz": 429} {
		answer, err := http.Get("http://" + d.HTTPAddr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want || reached > 0 {
			t.Errorf("%s: %d, want %d; %d requests reached the upstream", path, answer.StatusCode, want, reached)
		}
	}
}
