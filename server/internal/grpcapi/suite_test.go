package grpcapi

import (
	"net/http"
	"strings"
	"testing"
	_ "time/tzdata"

	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/service/servicetest"
)

// TestCheckAnswersTheSuite checks that Envoy's external authorization decides by routes like all others.
func TestCheckAnswersTheSuite(t *testing.T) {
	servicetest.RunRoutes(t, func(t *testing.T, s *service.Service, _ *decide.Limiter) servicetest.Ask {
		client := auth.NewAuthorizationClient(connected(t, New(Config{Authorize: s})))
		return func(t *testing.T, r *http.Request) (int, http.Header) {
			headers := map[string]string{}
			for name, values := range r.Header {
				headers[strings.ToLower(name)] = strings.Join(values, ",") // as Envoy does
			}
			answer, err := client.Check(t.Context(), check(r.Method, r.Host, r.URL.RequestURI(), "127.0.0.1", headers))
			if err != nil {
				if status.Code(err) != codes.Unavailable {
					t.Error(err)
				}
				return http.StatusServiceUnavailable, nil
			}
			code, options := http.StatusOK, answer.GetOkResponse().GetResponseHeadersToAdd()
			if denied := answer.GetDeniedResponse(); denied != nil {
				code, options = int(denied.Status.Code), denied.Headers
			}
			h := http.Header{}
			for _, o := range options {
				h.Add(o.Header.Key, o.Header.Value)
			}
			return code, h
		}
	})
}
