package gateway_test

import (
	"context"
	"net"
	"net/http"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/headgate/headgate/server/internal/gateway"
)

// calls limits the health check to one call an hour, and all other gRPC methods together to three.
const calls = `
policies: {calls: {algorithm: fixed-window, limit: 3, window: 1h}, none: {algorithm: fixed-window, limit: 1, window: 1h}}
routes:
  - match: {path: "/grpc.health.v1.Health/Check"}
    key: [{const: a}]
    policies: [none]
  - match: {path: "/**"}
    key: [{const: all}]
    policies: [calls]
`

// grpcServer starts a cleartext gRPC server with health and reflection.
func grpcServer(t *testing.T) string {
	t.Helper()
	s := grpc.NewServer()
	healthpb.RegisterHealthServer(s, health.NewServer())
	reflection.Register(s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-served })
	return "h2c://" + l.Addr().String()
}

// TestGRPC checks that unary calls and streams in both directions pass to a cleartext HTTP/2 upstream, and that a
// denial is a gRPC status.
func TestGRPC(t *testing.T) {
	g := start(t, calls, to(t, grpcServer(t)))
	client, err := grpc.NewClient(g.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	checks := healthpb.NewHealthClient(client)
	var header metadata.MD
	if answer, err := checks.Check(t.Context(), new(healthpb.HealthCheckRequest), grpc.Header(&header)); err != nil || answer.Status != healthpb.HealthCheckResponse_SERVING {
		t.Fatalf("%v %v", answer, err)
	}
	if len(header.Get("ratelimit")) != 1 {
		t.Errorf("headers: %v", header)
	}
	_, err = checks.Check(t.Context(), new(healthpb.HealthCheckRequest), grpc.Trailer(&header))
	if status.Code(err) != codes.ResourceExhausted || status.Convert(err).Message() != "the rate limit is reached: none" {
		t.Errorf("over the limit: %v", err)
	}
	if len(header.Get("retry-after")) != 1 || len(header.Get("x-request-id")) != 1 {
		t.Errorf("trailers: %v", header)
	}
	converse(t, client)
	watch(t, checks)
}

// converse sends a message, reads the answer, and sends the next message.
func converse(t *testing.T, client *grpc.ClientConn) {
	t.Helper()
	stream, err := reflectionpb.NewServerReflectionClient(client).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}); err != nil {
			t.Fatal(err)
		}
		if answer, err := stream.Recv(); err != nil || len(answer.GetListServicesResponse().GetService()) == 0 {
			t.Fatalf("%v %v", answer, err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Error(err)
	}
}

// watch reads the first message of an endless stream.
func watch(t *testing.T, checks healthpb.HealthClient) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := checks.Watch(ctx, new(healthpb.HealthCheckRequest))
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := stream.Recv(); err != nil || answer.Status != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("%v %v", answer, err)
	}
}

// TestGRPCWithoutUpstream checks that the gateway's own answers have the gRPC code for their HTTP status: see codeOf. A
// gRPC-Web client gets the HTTP status itself and no gRPC status.
func TestGRPCWithoutUpstream(t *testing.T) {
	g := start(t, "policies: {a: 1/s}\nroutes: [{match: {path: /limited}, key: [{header: X-User}], policies: [a]}]", func(c *gateway.Config) {
		to(t, "h2c://127.0.0.1:1")(c)
		c.DenyUnmatched = true
	})
	for path, want := range map[string]string{"/nowhere": "12", "/limited": "3"} {
		for contentType, isGRPC := range map[string]bool{"application/grpc": true, "application/grpc+proto": true, "application/grpc;v=1": true, "application/grpc-web": false, "text/plain": false} {
			got := g.send("POST", path, "Content-Type: "+contentType)
			if isGRPC && (got.status != http.StatusOK || got.header.Get("Grpc-Status") != want || got.header.Get("Content-Type") != "application/grpc" || got.header.Get("Grpc-Message") == "" || got.body != "") {
				t.Errorf("%s, %s: %+v", path, contentType, got)
			}
			if !isGRPC && (got.status < http.StatusBadRequest || got.header.Get("Grpc-Status") != "") {
				t.Errorf("%s, %s: %+v", path, contentType, got)
			}
		}
	}
	if got := gateway.Escape("é 100%\n~"); got != "%C3%A9 100%25%0A~" {
		t.Error(got)
	}
	away := start(t, "policies: {a: 1/s}", to(t, "h2c://127.0.0.1:1"))
	if got := away.send("POST", "/", "Content-Type: application/grpc"); got.header.Get("Grpc-Status") != "14" {
		t.Errorf("without an upstream: %+v", got)
	}
}

// TestClearHTTP2 checks that an h2c upstream receives HTTP/2 even from HTTP/1.1 clients, but no websockets.
func TestClearHTTP2(t *testing.T) {
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Proto + r.URL.Path)) }), Protocols: new(http.Protocols)}
	s.Protocols.SetUnencryptedHTTP2(true)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	defer func() { s.Close(); <-served }()
	g := start(t, all, to(t, "h2c://"+l.Addr().String()+"/below"))
	if got := g.send("GET", "/x"); got.body != "HTTP/2.0/below/x" {
		t.Errorf("%+v", got)
	}
	if got := g.send("GET", "/x", "Connection: Upgrade", "Upgrade: websocket"); got.status != http.StatusBadRequest {
		t.Errorf("websocket: %+v", got)
	}
}
