package grpcadapter_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/headgate/headgate"
	grpcadapter "github.com/headgate/headgate/adapter/grpc"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/internal/rule"
)

// serve starts a server that provides the health service, and returns a client for it.
func serve(t *testing.T, options ...grpc.ServerOption) healthpb.HealthClient {
	t.Helper()
	server := grpc.NewServer(options...)
	healthpb.RegisterHealthServer(server, health.NewServer())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		if err := <-stopped; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	return healthpb.NewHealthClient(conn)
}

func interceptors(l *grpcadapter.Interceptors) []grpc.ServerOption {
	return []grpc.ServerOption{grpc.UnaryInterceptor(l.Unary), grpc.StreamInterceptor(l.Stream)}
}

func policy(t *testing.T, limit engine.Limit) *headgate.Policy {
	l := headgate.New()
	t.Cleanup(func() { _ = l.Close() })
	return l.PolicyOf("per-ip", limit)
}

// watch starts a stream and receives its first message.
func watch(ctx context.Context, client healthpb.HealthClient) (metadata.MD, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := client.Watch(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		return nil, err
	}
	if _, err := stream.Recv(); err != nil {
		return nil, err
	}
	return stream.Header()
}

// denied checks the error for a call that was denied by an hourly limit.
func denied(t *testing.T, err error) {
	t.Helper()
	s := status.Convert(err)
	var retry *errdetails.RetryInfo
	var quota *errdetails.QuotaFailure
	for _, detail := range s.Details() {
		switch d := detail.(type) {
		case *errdetails.RetryInfo:
			retry = d
		case *errdetails.QuotaFailure:
			quota = d
		}
	}
	if s.Code() != codes.ResourceExhausted || !strings.Contains(s.Message(), "per-ip") || retry == nil || quota == nil {
		t.Fatalf("%v, details %v", err, s.Details())
	}
	if wait := retry.GetRetryDelay().AsDuration(); wait < 59*time.Minute || wait > time.Hour || len(quota.GetViolations()) != 1 || quota.GetViolations()[0].GetSubject() != "per-ip" {
		t.Errorf("RetryInfo %v, QuotaFailure %v", retry, quota)
	}
}

// Unary calls and streams share their caller's limit. A denied call returns the details and the headers.
func TestUnaryAndStream(t *testing.T) {
	client := serve(t, interceptors(grpcadapter.New(policy(t, rule.FixedWindow(rule.PerHour(2))), httplimit.ByIP()))...)
	var header metadata.MD
	if _, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{}, grpc.Header(&header)); err != nil || strings.Join(header.Get("ratelimit"), "") != `"per-ip";r=1;t=3600` {
		t.Errorf("%v %v", header, err)
	}
	if header, err := watch(t.Context(), client); err != nil || strings.Join(header.Get("ratelimit"), "") != `"per-ip";r=0;t=3600` {
		t.Errorf("%v %v", header, err)
	}
	_, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{}, grpc.Header(&header))
	denied(t, err)
	if strings.Join(header.Get("retry-after"), "") != "3600" {
		t.Errorf("%v", header)
	}
	_, err = watch(t.Context(), client)
	denied(t, err)
}

// A tap denies a call before its stream is created.
func TestTap(t *testing.T) {
	limit := grpcadapter.New(policy(t, rule.FixedWindow(rule.PerHour(1))), httplimit.ByIP())
	client := serve(t, grpc.InTapHandle(limit.Tap))
	if _, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
	_, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{})
	denied(t, err)
	_, err = watch(t.Context(), client)
	denied(t, err)
}

// Keys come from metadata. Rules receive a call's code as an HTTP status.
func TestKeysAndResponses(t *testing.T) {
	limit := grpcadapter.New(policy(t, rule.FixedWindow(rule.PerHour(1))), httplimit.ByHeader("X-User"), httplimit.WithFinalCost(httplimit.OnlyFailures))
	client := serve(t, interceptors(limit)...)
	for i, c := range []struct {
		user, service string
		want          codes.Code
	}{
		{"a", "", codes.OK}, {"a", "", codes.OK}, // successes are not counted
		{"a", "none", codes.NotFound}, {"a", "", codes.ResourceExhausted}, {"b", "", codes.OK}, {"", "", codes.InvalidArgument},
	} {
		ctx := t.Context()
		if c.user != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "x-user", c.user)
		}
		if _, err := client.Check(ctx, &healthpb.HealthCheckRequest{Service: c.service}); status.Code(err) != c.want {
			t.Errorf("call %d of %q: %v, want %s", i, c.user, err, c.want)
		}
	}
}

// routes decides by method and host, like the routes of a policies file. It does not distinguish streams.
type routes struct{}

func (routes) AllowRequest(r *http.Request) (headgate.Decision, error) {
	if r.Method != http.MethodPost || r.ContentLength != -1 || !strings.HasPrefix(r.Host, "127.0.0.1:") || r.URL.Path != "/grpc.health.v1.Health/Check" {
		return headgate.Decision{}, headgate.ErrStoreUnavailable
	}
	return headgate.Decision{RetryAfter: headgate.Never}, nil
}

// noKey refuses each call because it lacks its key, with the status of its route (regression: bug 222).
type noKey int

func (n noKey) AllowRequest(*http.Request) (headgate.Decision, error) {
	return headgate.Decision{}, &httplimit.NoKeyError{Part: "header X-API-Key", Status: int(n)}
}

// If a call can never pass, its denial contains no RetryInfo. If the decision is not known, a call fails as
// Unavailable, or passes with FailOpen.
func TestBy(t *testing.T) {
	client := serve(t, interceptors(grpcadapter.By(routes{}))...)
	_, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{})
	if s := status.Convert(err); s.Code() != codes.ResourceExhausted || len(s.Details()) != 1 {
		t.Errorf("%v, details %v", err, s.Details())
	}
	if _, err := watch(t.Context(), client); status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
	for sent, want := range map[int]codes.Code{400: codes.InvalidArgument, 401: codes.Unauthenticated, 403: codes.PermissionDenied, 422: codes.InvalidArgument} {
		keyless := serve(t, interceptors(grpcadapter.By(noKey(sent)))...)
		if _, err := keyless.Check(t.Context(), &healthpb.HealthCheckRequest{}); status.Code(err) != want {
			t.Errorf("a call without its key, status %d: %v", sent, err)
		}
	}
	open := serve(t, interceptors(grpcadapter.By(routes{}, httplimit.WithError(httplimit.FailOpen)))...)
	if _, err := watch(t.Context(), open); err != nil {
		t.Error(err)
	}
}

// A call that ends before its handler, because its headers cannot be set, is settled too: it is not counted, and gives
// its unit in flight back (regression: bug 282).
func TestHeadersCannotBeSet(t *testing.T) {
	l := headgate.New()
	t.Cleanup(func() { _ = l.Close() })
	failures := l.Policy("failures", headgate.FixedWindow{Rate: headgate.PerHour(3)})
	inFlight := l.Semaphore("in-flight", headgate.Concurrency{Units: 1})
	byUser := httplimit.ByHeader("X-User")
	for name, limit := range map[string]*grpcadapter.Interceptors{
		"final cost": grpcadapter.New(failures, byUser, httplimit.WithFinalCost(httplimit.OnlyFailures)),
		"in flight":  grpcadapter.By(httplimit.InFlight(inFlight, byUser)),
	} {
		sent := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := grpc.SendHeader(ctx, metadata.Pairs("a", "b")); err != nil {
				t.Error(err)
			}
			return next(ctx, request)
		}
		client := serve(t, grpc.ChainUnaryInterceptor(sent, limit.Unary))
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x-user", "a")
		if _, err := client.Check(ctx, &healthpb.HealthCheckRequest{}); status.Code(err) != codes.Internal {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d, err := failures.Peek(t.Context(), "a", 1); err != nil || d.Remaining != 3 {
		t.Errorf("%s, %v", d, err)
	}
	if d, err := inFlight.Peek(t.Context(), "a", 1); err != nil || !d.Allowed {
		t.Errorf("%s, %v", d, err)
	}
}

// Interceptors that New did not make refuse every call.
func TestNilAndZeroInterceptors(t *testing.T) {
	for _, l := range []*grpcadapter.Interceptors{nil, {}} {
		_, tapped := l.Tap(t.Context(), &tap.Info{FullMethodName: "/s/m"})
		handler := func(context.Context, any) (any, error) { return nil, errors.New("served") }
		_, served := l.Unary(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/s/m"}, handler)
		for _, err := range []error{tapped, served} {
			if status.Code(err) != codes.Internal {
				t.Error(err)
			}
		}
	}
}
