package grpcapi

import (
	"strings"
	"testing"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/problem"
	"github.com/headgate/headgate/server/internal/service"
)

const routes = `
policies:
  user: {algorithm: fixed-window, limit: 2, window: 1m}
  shared: {algorithm: fixed-window, limit: 100, window: 1m, classes: [{name: live}, {name: batch, leaves: 10%}]}
routes:
  - {match: {host: api.example.com, path: "/users/{id}", method: [POST]}, key: [{path: id}, {client_ip: {}}], policies: [user]}
  - {match: {path: /plan}, key: [{header: X-Plan}], policies: [user]}
`

// authorizing starts a server with the routes. The argument trusted is the policies file's trusted_proxies field.
func authorizing(t *testing.T, trusted string) (auth.AuthorizationClient, *headgate.Limiter) {
	return authorizingBy(t, routes+trusted)
}

func authorizingBy(t *testing.T, file string) (auth.AuthorizationClient, *headgate.Limiter) {
	t.Helper()
	conn, limiter := authorizingServer(t, file)
	return auth.NewAuthorizationClient(conn), limiter
}

func authorizingServer(t *testing.T, file string) (*grpc.ClientConn, *headgate.Limiter) {
	t.Helper()
	config, err := policy.Parse("test.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New()
	decider := service.New(service.Config{Limiter: limiter.Core()})
	decider.SetPolicies(config.Policies, config.Routes)
	t.Cleanup(func() { _ = limiter.Close() })
	return connected(t, New(Config{Authorize: decider})), limiter
}

// check returns Envoy's message for a request.
func check(method, host, path, source string, headers map[string]string) *auth.CheckRequest {
	return &auth.CheckRequest{Attributes: &auth.AttributeContext{
		Source: &auth.AttributeContext_Peer{Address: &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{Address: source}}}},
		Request: &auth.AttributeContext_Request{Http: &auth.AttributeContext_HttpRequest{
			Method: method, Host: host, Path: path, Headers: headers,
		}},
	}}
}

// headersOf formats the headers of an answer on one line.
func headersOf(options []*core.HeaderValueOption) string {
	var b strings.Builder
	for _, o := range options {
		b.WriteString(o.Header.Key + ": " + o.Header.Value + "\n")
	}
	return b.String()
}

// TestCheck checks that requests described by Envoy are allowed or denied according to the routes.
func TestCheck(t *testing.T) {
	client, limiter := authorizing(t, "trusted_proxies: [127.0.0.0/8, 10.0.0.0/8]")
	users := func(source string, headers map[string]string) *auth.CheckResponse {
		t.Helper()
		r, err := client.Check(t.Context(), check("POST", "api.example.com", "/users/7?v=2", source, headers))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, want := range []string{`Ratelimit: "user";r=1;`, `Ratelimit: "user";r=0;`} {
		if r := users("203.0.113.7", nil); r.Status.Code != int32(codes.OK) || !strings.Contains(headersOf(r.GetOkResponse().ResponseHeadersToAdd), want) {
			t.Errorf("%v, want %s", r, want)
		}
	}
	r := users("203.0.113.7", map[string]string{"x-forwarded-for": "198.51.100.1"}) // a header sent by a client
	denied := r.GetDeniedResponse()
	if r.Status.Code == int32(codes.OK) || denied.Status.Code != 429 || !strings.Contains(denied.Body, `"violated-policies":["user"]`) || !strings.Contains(headersOf(denied.Headers), "Retry-After: ") {
		t.Errorf("%v", r)
	}
	if r := users("10.0.0.9", map[string]string{"x-forwarded-for": "198.51.100.1"}); r.Status.Code != int32(codes.OK) {
		t.Errorf("another client behind a trusted proxy: %v", r)
	}
	if r, err := client.Check(t.Context(), check("GET", "elsewhere", "/", "203.0.113.7", nil)); err != nil || r.Status.Code != int32(codes.OK) || len(r.GetOkResponse().ResponseHeadersToAdd) > 0 {
		t.Errorf("without a route: %v, %v", r, err)
	}
	if r, err := client.Check(t.Context(), check("GET", "elsewhere", "/plan", "203.0.113.7", nil)); err != nil || !strings.Contains(r.GetDeniedResponse().GetBody(), "a part of its key: header X-Plan") {
		t.Errorf("without a key: %v, %v", r, err)
	}
	for _, bad := range []*auth.CheckRequest{
		check("GET", "elsewhere", "/?"+strings.Repeat("&", 10_000), "203.0.113.7", nil), check("GET", "a:1:2", "/", "203.0.113.7", nil), check("GET", "a:b", "/", "203.0.113.7", nil),
	} {
		if r, err := client.Check(t.Context(), bad); err != nil || r.GetDeniedResponse().GetStatus().GetCode() != 400 {
			t.Errorf("a host or query that cannot be read: %v, %v", r, err)
		}
	}
	if _, err := client.Check(t.Context(), &auth.CheckRequest{}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("nothing described: %v", err)
	}
	if err := limiter.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Check(t.Context(), check("GET", "elsewhere", "/plan", "203.0.113.7", map[string]string{"x-plan": "free"})); status.Code(err) != codes.Unavailable {
		t.Errorf("a decision that is not known: %v", err)
	}
}

// TestCheckInAClass checks that the class of a call comes from Envoy's context extensions, unless the route sets one.
// A client's header cannot set it.
func TestCheckInAClass(t *testing.T) {
	client, _ := authorizing(t, `
  - {match: {path: /batch}, key: [{header: X-User}], policies: [shared], class: batch}
  - {match: {path: "/**"}, key: [{header: X-User}], policies: [shared], class: {header: X-Class}}
`)
	for _, c := range []struct{ path, class, want string }{
		{"/", "", "batch"}, {"/", "live", "live"}, {"/", "made-up", "batch"}, {"/batch", "live", "batch"},
	} {
		r := check("GET", "h", c.path, "203.0.113.7", map[string]string{"x-user": "ann", "x-class": "live"})
		r.Attributes.ContextExtensions = map[string]string{"class": c.class}
		answer, err := client.Check(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		limit := map[string]string{"live": "q=100;", "batch": "q=90;"}[c.want]
		if got := headersOf(answer.GetOkResponse().GetResponseHeadersToAdd()); !strings.Contains(got, limit) {
			t.Errorf("%+v: %s, want %s", c, got, limit)
		}
	}
}

// TestCheckTrustsProxiesOnly checks that a caller that is not a trusted proxy cannot describe requests.
func TestCheckTrustsProxiesOnly(t *testing.T) {
	client, _ := authorizing(t, "trusted_proxies: [10.0.0.0/8]")
	if _, err := client.Check(t.Context(), check("GET", "elsewhere", "/", "203.0.113.7", nil)); status.Code(err) != codes.PermissionDenied {
		t.Errorf("%v", err)
	}
}

// TestCheckWithoutRoutes checks that a server without routes returns an error instead of admitting requests.
func TestCheckWithoutRoutes(t *testing.T) {
	client, _ := authorizingBy(t, "policies: {api: 1/s}")
	if _, err := client.Check(t.Context(), check("GET", "elsewhere", "/", "203.0.113.7", nil)); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), problem.NoRoutes) {
		t.Errorf("%v", err)
	}
}
