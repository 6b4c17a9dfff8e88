package gateway_test

import (
	"net/http"
	"testing"
	_ "time/tzdata"

	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/service/servicetest"
)

// TestGatewayAnswersTheSuite checks that the gateway decides requests by routes like every other front end.
func TestGatewayAnswersTheSuite(t *testing.T) {
	url := upstream(t, func(http.ResponseWriter, *http.Request) {})
	servicetest.RunRoutes(t, func(t *testing.T, s *service.Service, _ *decide.Limiter) servicetest.Ask {
		g := serve(t, s, to(t, url))
		return func(_ *testing.T, r *http.Request) (int, http.Header) {
			r.RequestURI, r.URL.Scheme, r.URL.Host = "", "http", g.address
			a := g.do(r)
			return a.status, a.header
		}
	})
}
