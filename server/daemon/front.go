package daemon

import (
	"net/http"

	"github.com/headgate/headgate/server/internal/httpapi"
)

// The paths of probes on the HTTP listener of every server, with or without a gateway. They are answered before users,
// routes and traces, so that a probe is never counted, and never reaches an upstream.
const (
	// AlivePath answers 200 while the process runs.
	AlivePath = "/.headgate/healthz"
	// ReadyPath answers 200 while the server should get new requests, and otherwise 503.
	ReadyPath = "/.headgate/readyz"
)

// front wraps the handler of the HTTP listener. It answers probes, and while the server drains, it makes clients move to
// another server: HTTP/1.1 connections close after their answer, and HTTP/2 connections get a GOAWAY. Otherwise a
// client would keep its connection until the server closes it, and lose a request that it sends at this moment.
func (d *Daemon) front(next http.Handler) http.Handler {
	ready := httpapi.Ready(d.service)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.service.Draining() && r.Header["Upgrade"] == nil { // the answer to an upgrade has its own Connection
			w.Header().Set("Connection", "close") // net/http sends a GOAWAY for it
		}
		switch r.URL.Path {
		case AlivePath:
			httpapi.Alive(w, r)
		case ReadyPath:
			ready(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
