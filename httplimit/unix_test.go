package httplimit_test

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
)

// A request over a Unix socket used to get a 400, because it has no client address. Its peer counts as 127.0.0.1, so a
// proxy at the other end can be trusted (regression: bug 120).
func TestClientsOverAUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "http.sock")
	socket, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l := limiter(t)
	one := headgate.FixedWindow{Rate: headgate.PerHour(1)}
	mux := http.NewServeMux()
	mux.Handle("/peer", httplimit.New(l.Policy("peer", one), httplimit.ByIP())(hello))
	mux.Handle("/proxied", httplimit.New(l.Policy("proxied", one), httplimit.ByClient(httplimit.Loopback))(hello))
	server := &http.Server{Handler: mux} //nolint:gosec // no client is slow
	go func() { _ = server.Serve(socket) }()
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", path) }}}
	for i, c := range []struct {
		url, forwarded string
		want           int
	}{
		{"http://unix/peer", "192.0.2.1", http.StatusOK},
		{"http://unix/peer", "192.0.2.2", http.StatusTooManyRequests}, // not trusted
		{"http://unix/proxied", "192.0.2.1", http.StatusOK},
		{"http://unix/proxied", "192.0.2.2", http.StatusOK},
		{"http://unix/proxied", "192.0.2.2", http.StatusTooManyRequests},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Forwarded-For", c.forwarded)
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != c.want {
			t.Errorf("request %d: %d, want %d", i, response.StatusCode, c.want)
		}
	}
}

// A request without a key gets the response for that, also if WithPolicy knows no policy for it; it used to be a 500
// (regression: bug 119).
func TestKeyComesBeforeThePolicy(t *testing.T) {
	choose := httplimit.WithPolicy(func(*http.Request) *headgate.Policy { return nil })
	middleware := httplimit.New(nil, httplimit.ByHeader("X-Api-Key"), choose)
	if w := get(middleware(hello)); w.Code != http.StatusBadRequest {
		t.Errorf("without a key: %d %s", w.Code, w.Body)
	}
	if w := get(httplimit.New(nil, httplimit.All(), choose)(hello)); w.Code != http.StatusInternalServerError {
		t.Errorf("without a policy: %d %s", w.Code, w.Body)
	}
}
