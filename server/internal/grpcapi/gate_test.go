package grpcapi

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
	"github.com/headgate/headgate/server/internal/envoy"
	"github.com/headgate/headgate/server/internal/peers"
	"github.com/headgate/headgate/server/internal/users"
)

// guarded serves the rate limit service to the users in a file. Each user's secret is its name.
func guarded(t *testing.T, c Config, rights map[string]string) *grpc.ClientConn {
	t.Helper()
	text := "users:\n"
	for name, right := range rights {
		secret := fmt.Sprintf("sha256: [%x], ", sha256.Sum256([]byte(name)))
		if name == users.Default {
			secret = ""
		}
		text += fmt.Sprintf("  %s: {%s%s}\n", name, secret, right)
	}
	path := filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if c.Users, err = users.Open(path); err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New()
	t.Cleanup(func() { _ = limiter.Close() })
	c.Service = envoy.New(envoy.Options{}, filelimit.New(policy.Empty(), limiter).Do)
	if _, err := c.Service.Load([]envoy.File{{Name: "d.yaml", Data: []byte(file)}}); err != nil {
		t.Fatal(err)
	}
	s := New(c)
	s.SetServing(true)
	return connected(t, s)
}

func as(ctx context.Context, secret string) context.Context {
	if secret == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+secret)
}

// open begins a call without sending a message.
func open(ctx context.Context, t *testing.T, c *grpc.ClientConn, method string) grpc.ClientStream {
	t.Helper()
	stream, err := c.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// TestUserBeforeTheMessage (regression: bug 69): an unauthorized call is rejected before its message arrives. A user's call
// waits for the message.
func TestUserBeforeTheMessage(t *testing.T) {
	c := guarded(t, Config{}, map[string]string{"shop": "may: [decide]", "clerk": "may: [write]"})
	for secret, want := range map[string]codes.Code{"": codes.Unauthenticated, "wrong": codes.Unauthenticated, "clerk": codes.PermissionDenied} {
		stream := open(as(t.Context(), secret), t, c, pb.RateLimitService_ShouldRateLimit_FullMethodName)
		if err := stream.RecvMsg(new(pb.RateLimitResponse)); status.Code(err) != want {
			t.Errorf("%q without a message: %v, want %v", secret, err, want)
		}
	}
	stream := open(as(t.Context(), "shop"), t, c, pb.RateLimitService_ShouldRateLimit_FullMethodName)
	if err := stream.SendMsg(request("x")); err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	var answer pb.RateLimitResponse
	if err := stream.RecvMsg(&answer); err != nil || answer.OverallCode != pb.RateLimitResponse_OK {
		t.Errorf("a user: %v, %v", &answer, err)
	}
}

// TestHealthOfGuardedServers (regression: bug 69): if users are configured, a watch needs a user's secret, but a check does
// not.
func TestHealthOfGuardedServers(t *testing.T) {
	c := guarded(t, Config{}, map[string]string{"shop": "may: [decide]"})
	health := healthpb.NewHealthClient(c)
	if r, err := health.Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil || r.Status != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("a check: %v, %v", r, err)
	}
	for secret, want := range map[string]codes.Code{"": codes.Unauthenticated, "wrong": codes.Unauthenticated, "shop": codes.OK} {
		ctx, cancel := context.WithCancel(as(t.Context(), secret))
		watch, err := health.Watch(ctx, &healthpb.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := watch.Recv(); status.Code(err) != want {
			t.Errorf("a watch of %q: %v, want %v", secret, err, want)
		}
		if _, err := health.List(ctx, &healthpb.HealthListRequest{}); status.Code(err) != want {
			t.Errorf("a list of %q: %v, want %v", secret, err, want)
		}
		cancel()
	}
	_, c = served(t, envoy.Options{}, nil)
	watch, err := healthpb.NewHealthClient(c).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := watch.Recv(); err != nil || r.Status != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("a watch without users: %v, %v", r, err)
	}
}

// TestCallsWithoutASecretAreBounded (regression: bugs 69 and 70): one peer gets a quarter of the slots for calls without a
// secret. Users' calls continue, and slots are freed.
func TestCallsWithoutASecretAreBounded(t *testing.T) {
	c := guarded(t, Config{Peers: peers.Rule{Percent: 25}, maxCall: time.Hour}, map[string]string{"shop": "may: [decide]"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	health := healthpb.NewHealthClient(c)
	check := func() codes.Code {
		_, err := health.Check(t.Context(), &healthpb.HealthCheckRequest{})
		return status.Code(err)
	}
	var calls []grpc.ClientStream
	for range maxOpen / 4 {
		calls = append(calls, open(ctx, t, c, healthpb.Health_Check_FullMethodName))
	}
	waitFor(t, "the bound", func() bool {
		if check() == codes.ResourceExhausted {
			return true
		}
		calls = append(calls, open(ctx, t, c, healthpb.Health_Check_FullMethodName)) // in case one of the checks above took a slot
		return false
	})
	if _, err := pb.NewRateLimitServiceClient(c).ShouldRateLimit(as(t.Context(), "shop"), request("x")); err != nil {
		t.Errorf("a user: %v", err)
	}
	cancel()
	for _, call := range calls {
		_ = call.RecvMsg(new(healthpb.HealthCheckResponse))
	}
	waitFor(t, "places that come back", func() bool { return check() == codes.OK })
}

// waitFor waits until a condition is true.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(20 * time.Second); !holds(); <-ticker.C {
		if time.Now().After(end) {
			t.Fatalf("waited for %s for 20 s", what)
		}
	}
}

// TestMessagesWithoutASecret (regression: bug 69): messages above 64 KiB from clients without a secret are not decoded.
func TestMessagesWithoutASecret(t *testing.T) {
	c := guarded(t, Config{}, map[string]string{"default": "may: [decide]", "shop": "may: [decide]"})
	client := pb.NewRateLimitServiceClient(c)
	for _, try := range []struct {
		secret string
		bytes  int
		want   codes.Code
	}{
		{"", 60_000, codes.OK},
		{"", 70_000, codes.ResourceExhausted},
		{"shop", 70_000, codes.OK},
		{"shop", 1_100_000, codes.ResourceExhausted},
	} {
		if _, err := client.ShouldRateLimit(as(t.Context(), try.secret), request(strings.Repeat("x", try.bytes))); status.Code(err) != try.want {
			t.Errorf("%q sends %d bytes: %v, want %v", try.secret, try.bytes, err, try.want)
		}
	}
}

// TestMessagesComeInTime (regression: bug 69): a unary call whose message does not arrive in time is ended. Streams stay
// open.
func TestMessagesComeInTime(t *testing.T) {
	c := guarded(t, Config{maxCall: 20 * time.Millisecond}, map[string]string{"shop": "may: [decide]"})
	ctx, cancel := context.WithCancel(as(t.Context(), "shop"))
	defer time.AfterFunc(20*time.Second, cancel).Stop() // would end the call with another code
	defer cancel()
	watch, err := healthpb.NewHealthClient(c).Watch(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		call := open(ctx, t, c, pb.RateLimitService_ShouldRateLimit_FullMethodName)
		if err := call.RecvMsg(new(pb.RateLimitResponse)); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("a call without a message: %v, want %v", err, codes.DeadlineExceeded)
		}
	}
	if err := watch.Context().Err(); err != nil {
		t.Errorf("the watch: %v", err)
	}
	if maxCall > 10*time.Second {
		t.Errorf("a call has %v, docs/reference/bounds.md states 10 s", maxCall)
	}
}
