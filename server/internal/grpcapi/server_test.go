package grpcapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/filelimit"
	"github.com/headgate/headgate/server/internal/envoy"
	"github.com/headgate/headgate/server/internal/requestid"
	"github.com/headgate/headgate/server/internal/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const file = "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 2}}]"

// served starts a server, and returns it with a connection.
func served(t *testing.T, options envoy.Options, do envoy.Decide) (*Server, *grpc.ClientConn) {
	t.Helper()
	if do == nil {
		limiter := headgate.New()
		t.Cleanup(func() { _ = limiter.Close() })
		do = filelimit.New(policy.Empty(), limiter).Do
	}
	rules := envoy.New(options, do)
	if _, err := rules.Load([]envoy.File{{Name: "d.yaml", Data: []byte(file)}}); err != nil {
		t.Fatal(err)
	}
	s := New(Config{Service: rules})
	s.SetServing(true)
	return s, connected(t, s)
}

// connected serves, and returns a connection. Both are closed after the test.
func connected(t *testing.T, s *Server) *grpc.ClientConn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	c, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c
}

func request(value string) *pb.RateLimitRequest {
	return &pb.RateLimitRequest{Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{
		{Entries: []*ratelimit.RateLimitDescriptor_Entry{{Key: "a", Value: value}}},
	}}
}

func wantHealth(t *testing.T, c *grpc.ClientConn, want healthpb.HealthCheckResponse_ServingStatus) {
	t.Helper()
	for _, name := range names {
		r, err := healthpb.NewHealthClient(c).Check(t.Context(), &healthpb.HealthCheckRequest{Service: name})
		if err != nil || r.Status != want {
			t.Errorf("health of %q: %v, %v, want %v", name, r, err, want)
		}
	}
}

// TestShouldRateLimit covers decisions, and the health of all names that a client may request.
func TestShouldRateLimit(t *testing.T) {
	s, c := served(t, envoy.Options{}, nil)
	client := pb.NewRateLimitServiceClient(c)
	for _, want := range []pb.RateLimitResponse_Code{pb.RateLimitResponse_OK, pb.RateLimitResponse_OK, pb.RateLimitResponse_OVER_LIMIT} {
		if r, err := client.ShouldRateLimit(t.Context(), request("x")); err != nil || r.OverallCode != want {
			t.Errorf("%v, %v, want %v", r, err, want)
		}
	}
	wantHealth(t, c, healthpb.HealthCheckResponse_SERVING)
	s.SetServing(false)
	wantHealth(t, c, healthpb.HealthCheckResponse_NOT_SERVING)
	s.SetServing(true)
	s.Drain()
	s.SetServing(true) // as a reload during the drain does
	wantHealth(t, c, healthpb.HealthCheckResponse_NOT_SERVING)
	if r, err := client.ShouldRateLimit(t.Context(), request("y")); err != nil || r.OverallCode != pb.RateLimitResponse_OK {
		t.Errorf("in the drain: %v, %v", r, err)
	}
}

// TestReflection checks that reflection lists the service by name.
func TestReflection(t *testing.T) {
	_, c := served(t, envoy.Options{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := reflectionpb.NewServerReflectionClient(c).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ask := &reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}
	if err := stream.Send(ask); err != nil {
		t.Fatal(err)
	}
	r, err := stream.Recv()
	if err != nil || !strings.Contains(r.String(), "envoy.service.ratelimit.v3.RateLimitService") {
		t.Errorf("%v, %v", r, err)
	}
}

// TestErrorCodes checks errors as gRPC statuses, with envoyproxy/ratelimit's text.
func TestErrorCodes(t *testing.T) {
	for semantics, want := range map[envoy.Semantics]codes.Code{envoy.Original: codes.Unknown, envoy.Improved: codes.InvalidArgument} {
		_, c := served(t, envoy.Options{Semantics: semantics}, nil)
		_, err := pb.NewRateLimitServiceClient(c).ShouldRateLimit(t.Context(), &pb.RateLimitRequest{})
		if status.Code(err) != want || status.Convert(err).Message() != "rate limit domain must not be empty" {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// TestRequestIDs checks that an answer, and the context of the decision, contain the id that the client sent. If the id
// is missing or invalid, a denied request and an error get a new id.
func TestRequestIDs(t *testing.T) {
	limiter := headgate.New()
	t.Cleanup(func() { _ = limiter.Close() })
	var decided string
	_, c := served(t, envoy.Options{}, func(ctx context.Context, requests []decide.Request, responses []decide.Response) {
		decided = requestid.From(ctx)
		filelimit.New(policy.Empty(), limiter).Do(ctx, requests, responses)
	})
	long := strings.Repeat("x", requestid.MaxBytes+1)
	for _, id := range []struct{ name, sent, want string }{
		{"valid", "r-1", "^r-1$"}, {"allowed", "", "^$"}, {"denied", long, "^[A-Z2-7]{26}$"}, {"denied again", "", "^[A-Z2-7]{26}$"},
	} {
		ctx := t.Context()
		if id.sent != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, requestid.Metadata, id.sent)
		}
		var header metadata.MD
		if _, err := pb.NewRateLimitServiceClient(c).ShouldRateLimit(ctx, request("x"), grpc.Header(&header)); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(header.Get(requestid.Metadata), ",")
		if !regexp.MustCompile(id.want).MatchString(got) || got != "" && got != decided {
			t.Errorf("%s: the answer has %q, the context %q, want %s", id.name, got, decided, id.want)
		}
	}
	var header metadata.MD
	if _, err := pb.NewRateLimitServiceClient(c).ShouldRateLimit(t.Context(), &pb.RateLimitRequest{}, grpc.Header(&header)); err == nil || len(header.Get(requestid.Metadata)) != 1 {
		t.Errorf("%v with the header %v", err, header)
	}
}

// hanging is a store that never answers.
type hanging struct{}

func (hanging) Do(ctx context.Context, _ []engine.Op, results []engine.Answer) {
	<-ctx.Done()
	for i := range results {
		results[i].Err = ctx.Err()
	}
}

func (hanging) Close() error { return nil }

// TestDeadline checks that if the store hangs, the failure mode answers when the server's deadline ends, although the
// client would wait longer.
func TestDeadline(t *testing.T) {
	limiter := headgate.New(headgate.WithStore(hanging{}))
	shared := service.New(service.Config{Limiter: limiter.Core()})
	within := func(ctx context.Context, requests []decide.Request, responses []decide.Response) {
		shared.DoWithin(ctx, 15*time.Millisecond, service.GRPC, requests, responses)
	}
	deny, allow := policy.Deny, policy.Allow
	for failure, want := range map[*policy.Failure]codes.Code{nil: codes.Unknown, &deny: codes.Unavailable, &allow: codes.OK} {
		_, c := served(t, envoy.Options{Failure: failure}, within)
		client := pb.NewRateLimitServiceClient(c)
		c.Connect()
		if _, err := healthpb.NewHealthClient(c).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
			t.Fatal(err)
		}
		for _, leaves := range []time.Duration{time.Minute, 10 * time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), leaves)
			start := time.Now()
			_, err := client.ShouldRateLimit(ctx, request("x"))
			cancel()
			if took := time.Since(start); status.Code(err) != want || took < 14*time.Millisecond || took > 5*time.Second {
				t.Errorf("failure %v: %v after %s, want %v after 15ms", failure, err, took, want)
			}
		}
	}
}

// TestServeAfterShutdown checks that a server that is stopped before it serves ends as one that is stopped later.
func TestServeAfterShutdown(t *testing.T) {
	s := New(Config{})
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(l); err != nil {
		t.Error(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is left open: %v", err)
	}
}

// TestShutdownIsBounded checks that a hanging call does not keep the server from stopping.
func TestShutdownIsBounded(t *testing.T) {
	entered := make(chan struct{})
	s, c := served(t, envoy.Options{}, func(ctx context.Context, _ []decide.Request, responses []decide.Response) {
		close(entered)
		<-ctx.Done()
		responses[0].Err = ctx.Err()
	})
	failed := make(chan error, 1)
	go func() {
		_, err := pb.NewRateLimitServiceClient(c).ShouldRateLimit(context.Background(), request("x"))
		failed <- err
	}()
	<-entered
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := s.Shutdown(ctx); err == nil {
		t.Error("no error from a shutdown that closed a connection")
	}
	if err := <-failed; err == nil {
		t.Error("the call succeeded")
	}
}

// TestShutdownAnswersRunningCalls checks that Shutdown waits for calls in flight, and that they are answered.
func TestShutdownAnswersRunningCalls(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	s, c := served(t, envoy.Options{}, func(_ context.Context, _ []decide.Request, responses []decide.Response) {
		close(entered)
		<-release
		responses[0].Binds().Unlimited = true
	})
	answered := make(chan error, 1)
	go func() {
		_, err := pb.NewRateLimitServiceClient(c).ShouldRateLimit(context.Background(), request("x"))
		answered <- err
	}()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- s.Shutdown(context.Background()) }()
	close(release)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestMessageBound checks that a request over 1 MiB gets a gRPC error.
func TestMessageBound(t *testing.T) {
	_, c := served(t, envoy.Options{}, nil)
	_, err := pb.NewRateLimitServiceClient(c).ShouldRateLimit(t.Context(), request(strings.Repeat("x", 2<<20)))
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%v", err)
	}
}

// TestPaths checks that /json and /healthcheck answer like envoyproxy/ratelimit, and that the handler gets every
// other path.
func TestPaths(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	rules := envoy.New(envoy.Options{}, filelimit.New(policy.Empty(), limiter).Do)
	var readiness error
	h := Paths(rules, func(context.Context) error { return readiness }, false, false, func(service.Refusal) {}, http.NotFoundHandler())
	do := func(method, path, body string) string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		return w.Result().Status + " " + strings.ReplaceAll(strings.TrimSpace(w.Body.String()), " ", "")
	}
	want := func(want, method, path, body string) {
		t.Helper()
		if got := do(method, path, body); got != want {
			t.Errorf("%s %s %.80s: %s, want %s", method, path, body, got, want)
		}
	}
	const one = `{"domain":"d","descriptors":[{"entries":[{"key":"q"}]}]}`
	want("500 Internal Server Error ", "GET", "/healthcheck", "")
	want("400 Bad Request BadRequest", "POST", "/json", one)
	if _, err := rules.Load([]envoy.File{{Name: "d.yaml", Data: []byte("domain: d\ndescriptors: [{key: none, rate_limit: {unit: day}}]")}}); err != nil {
		t.Fatal(err)
	}
	want("200 OK OK", "GET", "/healthcheck", "")
	want(`200 OK {"overallCode":"OK","statuses":[{"code":"OK"}]}`, "POST", "/json", one)
	if got := do("POST", "/json", strings.Replace(one, `"q"`, `"none"`, 1)); !strings.HasPrefix(got, `429 Too Many Requests {"overallCode":"OVER_LIMIT"`) {
		t.Error(got)
	}
	want("400 Bad Request BadRequest", "POST", "/json", `{"domain":"d"}`)
	want("400 Bad Request BadRequest", "POST", "/json", `{"unknown":1}`)
	want("400 Bad Request BadRequest", "POST", "/json", `{"domain":"`+strings.Repeat("x", 2<<20)+`"}`)
	want("404 Not Found 404pagenotfound", "GET", "/else", "")
	const negative = `{"domain":"d","descriptors":[{"entries":[{"key":"none"}],"isNegativeHits":true,"hitsAddend":"1"}]}`
	want("403 Forbidden writesbyclientsareoff;theserver's--allow-writesturnsthemon", "POST", "/json", negative)
	h = Paths(rules, func(context.Context) error { return readiness }, false, true, func(service.Refusal) {}, http.NotFoundHandler())
	if got := do("POST", "/json", negative); !strings.HasPrefix(got, "200 OK ") {
		t.Error(got)
	}
	readiness = context.Canceled
	want("500 Internal Server Error ", "GET", "/healthcheck", "")
}

// TestIdleConnection checks that an idle connection is closed gracefully, and that the next call opens another one.
func TestIdleConnection(t *testing.T) {
	s := New(Config{MaxIdle: 50 * time.Millisecond})
	s.SetServing(true)
	c := connected(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for range 2 {
		if _, err := healthpb.NewHealthClient(c).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
			t.Fatal(err)
		}
		for state := c.GetState(); state != connectivity.Idle; state = c.GetState() {
			if !c.WaitForStateChange(ctx, state) {
				t.Fatalf("the connection stays %s", state)
			}
		}
	}
}
