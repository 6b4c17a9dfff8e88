package servicetest

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/headgate/headgate/policy/filelimit"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/gateway"
	"github.com/headgate/headgate/server/internal/service"
)

// TestGatewayAnswersTheSuite checks that the gateway decides requests by routes like every other front end.
func TestGatewayAnswersTheSuite(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(upstream.Close)
	to, err := route.ParseUpstream(gateway.DefaultUpstream, upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	RunRoutes(t, func(t *testing.T, s *service.Service, _ *filelimit.Limiter) Ask {
		logger := slog.New(slog.DiscardHandler)
		g := gateway.New(gateway.Config{Service: s, Upstream: to, StallTimeout: 10 * time.Second, UpstreamTimeout: 10 * time.Second, MaxWaiting: 100, Logger: logger})
		server := httptest.NewUnstartedServer(nil)
		server.Config, server.Listener = g.Server(logger), g.Listen(server.Listener)
		server.Start()
		t.Cleanup(g.Close)
		t.Cleanup(server.Close)
		return func(t *testing.T, r *http.Request) (int, http.Header) {
			r.RequestURI, r.URL.Scheme, r.URL.Host = "", "http", server.Listener.Addr().String()
			response, err := server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			return response.StatusCode, response.Header
		}
	})
}
