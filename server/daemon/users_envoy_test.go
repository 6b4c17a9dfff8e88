package daemon_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	kind "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
)

// envoyUsers writes a file with three users: one may use a single domain, one may use all domains and give units back,
// and one may only give units back. Each user's secret is its name.
func envoyUsers(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "users.yaml")
	text := "users:\n"
	for name, rights := range map[string]string{
		"mesh":  `may: [decide], policies: ["envoy:shop*", web], inline: false`,
		"ops":   "may: [decide, write]",
		"clerk": "may: [write]",
	} {
		text += fmt.Sprintf("  %s: {sha256: [%x], %s}\n", name, sha256.Sum256([]byte(name)), rights)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// envoyServer starts a server with routes and with the Envoy domains "shop/a" and "other".
func envoyServer(t *testing.T, users string, noInline bool) *daemon.Daemon {
	t.Helper()
	config, err := policy.Parse("x.yaml", []byte("policies: {web: 100/s, hidden: 100/s}\nroutes: [{match: {path: /web}, key: [{const: all}], policies: [web]}, {match: {path: /**}, key: [{const: all}], policies: [web, hidden]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	directory := envoyDirectory(t, strings.Replace(envoyFile, "domain: d", "domain: shop/a", 1))
	if err := os.WriteFile(filepath.Join(directory, "other.yaml"), []byte(strings.Replace(envoyFile, "domain: d", "domain: other", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return running(t, daemon.Config{
		RESP: daemon.Off, HTTP: "127.0.0.1:0", GRPC: daemon.GRPC{Address: "127.0.0.1:0", EnvoyConfig: directory}, Base: config, NoInline: noInline,
		Users: daemon.UsersFiles{HTTP: users, GRPC: users},
	})
}

// asked sends one request, over gRPC and as JSON over HTTP.
func asked(t *testing.T, d *daemon.Daemon, c *grpc.ClientConn, secret string, r *pb.RateLimitRequest) (codes.Code, int, string) {
	t.Helper()
	ctx := t.Context()
	body, err := protojson.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+d.HTTPAddr().String()+"/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	if secret != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+secret)
		post.Header.Set("Authorization", "Bearer "+secret)
	}
	_, err = pb.NewRateLimitServiceClient(c).ShouldRateLimit(ctx, r)
	answer, httpErr := http.DefaultClient.Do(post)
	if httpErr != nil {
		t.Fatal(httpErr)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return status.Code(err), answer.StatusCode, status.Convert(err).Message() + " " + string(text)
}

// TestUsersOfEnvoy checks that a user has the same rights in Envoy's rate limit service as elsewhere, over gRPC and
// HTTP, with domains in place of policies.
func TestUsersOfEnvoy(t *testing.T) {
	hit := func(domain string, negative bool, own *ratelimit.RateLimitDescriptor_RateLimitOverride) *pb.RateLimitRequest {
		return &pb.RateLimitRequest{Domain: domain, Descriptors: []*ratelimit.RateLimitDescriptor{
			{Entries: []*ratelimit.RateLimitDescriptor_Entry{{Key: "b", Value: "1"}}, IsNegativeHits: negative, Limit: own},
		}}
	}
	own := &ratelimit.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: 1_000_000, Unit: kind.RateLimitUnit_DAY}
	take, give, brought := hit("shop/a", false, nil), hit("shop/a", true, nil), hit("shop/a", false, own)
	guarded, open, named := envoyServer(t, envoyUsers(t), false), envoyServer(t, "", false), envoyServer(t, "", true)
	for _, c := range []struct {
		name   string
		server *daemon.Daemon
		secret string
		send   *pb.RateLimitRequest
		grpc   codes.Code
		http   int
		want   string
	}{
		{"takes", guarded, "mesh", take, codes.OK, 200, ""},
		{"gives back", guarded, "mesh", give, codes.PermissionDenied, 403, "may not give units back"},
		{"brings a limit", guarded, "mesh", brought, codes.PermissionDenied, 403, "cannot have limits of their own"},
		{"another domain", guarded, "mesh", hit("other", false, nil), codes.PermissionDenied, 403, `may not use the policy "envoy:other"`},
		{"administers", guarded, "ops", give, codes.OK, 200, ""},
		{"administers every domain", guarded, "ops", hit("other", true, nil), codes.OK, 200, ""},
		{"brings a limit by right", guarded, "ops", brought, codes.OK, 200, ""},
		{"may not decide", guarded, "clerk", take, codes.PermissionDenied, 403, "may not request decisions"},
		{"no secret", guarded, "", take, codes.Unauthenticated, 401, "no secret"},
		{"without users: Envoy gives back over gRPC, clients of HTTP do not", open, "", give, codes.OK, 403, "writes by clients are off"},
		{"without users, a limit of its own", open, "", brought, codes.OK, 200, ""},
		{"no limits of requests", named, "", brought, codes.PermissionDenied, 403, "--no-inline"},
	} {
		connection, err := grpc.NewClient(c.server.GRPCAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		code, status, text := asked(t, c.server, connection, c.secret, c.send)
		if code != c.grpc || status != c.http || !strings.Contains(text, c.want) {
			t.Errorf("%s: %v, %d %q; want %v, %d with %q", c.name, code, status, text, c.grpc, c.http, c.want)
		}
		_ = connection.Close()
	}
}

// TestUsersOfRoutesOverGRPC checks that external authorization requires a user with the right to the route's policy,
// and that listing the services requires a user.
func TestUsersOfRoutesOverGRPC(t *testing.T) {
	d := envoyServer(t, envoyUsers(t), false)
	connection, err := grpc.NewClient(d.GRPCAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	for _, c := range []struct {
		secret, path string
		check, list  codes.Code
	}{
		{"mesh", "/web", codes.OK, codes.OK},
		{"mesh", "/other", codes.PermissionDenied, codes.OK},
		{"ops", "/other", codes.OK, codes.OK},
		{"no", "/web", codes.Unauthenticated, codes.Unauthenticated},
	} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+c.secret)
		_, err := auth.NewAuthorizationClient(connection).Check(ctx, &auth.CheckRequest{Attributes: &auth.AttributeContext{Request: &auth.AttributeContext_Request{
			Http: &auth.AttributeContext_HttpRequest{Method: "GET", Path: c.path, Host: "h"},
		}}})
		if status.Code(err) != c.check {
			t.Errorf("%s %s: %v, want %s", c.secret, c.path, err, c.check)
		}
		stream, err := reflection.NewServerReflectionClient(connection).ServerReflectionInfo(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.Send(&reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_ListServices{}})
		if _, err := stream.Recv(); status.Code(err) != c.list {
			t.Errorf("%s: the list of services: %v, want %s", c.secret, err, c.list)
		}
		_ = stream.CloseSend()
	}
}
