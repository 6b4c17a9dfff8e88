package servicetest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/headgate/headgate/policy/filelimit"
	"github.com/headgate/headgate/server/internal/grpcapi"
	"github.com/headgate/headgate/server/internal/service"
)

// envoy starts a gRPC server with the service, and returns a client of its external authorization.
func envoy(t *testing.T, s *service.Service) auth.AuthorizationClient {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, served := grpcapi.New(grpcapi.Config{Authorize: s}), make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	client, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(client.Close(), server.Shutdown(context.Background()), <-served); err != nil {
			t.Error(err)
		}
	})
	return auth.NewAuthorizationClient(client)
}

// described returns a request as Envoy describes it.
func described(r *http.Request) *auth.CheckRequest {
	headers := map[string]string{}
	for name, values := range r.Header {
		headers[strings.ToLower(name)] = strings.Join(values, ",") // as Envoy does
	}
	source := &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{Address: "127.0.0.1"}}}
	return &auth.CheckRequest{Attributes: &auth.AttributeContext{
		Source: &auth.AttributeContext_Peer{Address: source},
		Request: &auth.AttributeContext_Request{Http: &auth.AttributeContext_HttpRequest{
			Method: r.Method, Host: r.Host, Path: r.URL.RequestURI(), Headers: headers,
		}},
	}}
}

// TestCheckAnswersTheSuite checks that Envoy's external authorization decides by routes like all others.
func TestCheckAnswersTheSuite(t *testing.T) {
	RunRoutes(t, func(t *testing.T, s *service.Service, _ *filelimit.Limiter) Ask {
		client := envoy(t, s)
		return func(t *testing.T, r *http.Request) (int, http.Header) {
			answer, err := client.Check(t.Context(), described(r))
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
