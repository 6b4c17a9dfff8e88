// Package grpcapi implements Envoy's rate limit service, over gRPC and two HTTP paths, with package envoy. It also
// implements Envoy's external authorization service, with the routes. The package handles connections, health and
// errors.
//
//	server.go    the gRPC server, with its bounds
//	gate.go      checks of users and bounds, before a call's message is received
//	codec.go     the codec, which bounds the length of messages
//	handler.go   ShouldRateLimit, and errors as gRPC statuses
//	authorize.go Check
//	http.go      /json and /healthcheck
package grpcapi

import (
	"cmp"
	"context"
	"errors"
	"net"
	"runtime"
	"time"

	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/headgate/headgate/server/internal/envoy"
	"github.com/headgate/headgate/server/internal/peers"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/users"
)

// Bounds of a connection. A message or header beyond its bound causes a gRPC error. A call beyond maxStreams waits in
// the client.
const (
	maxStreams     = 10_000
	maxMessage     = 1 << 20
	maxHeader      = 16 << 10
	connectTimeout = 10 * time.Second
	// pingEvery is the interval between the server's pings on an idle connection. minPing is the minimum interval
	// between a client's pings.
	pingEvery = time.Minute
	minPing   = 5 * time.Second
	// maxIdle is how long a connection stays open without a call. The client is notified first, and reconnects for
	// its next call.
	maxIdle = 15 * time.Minute
)

// Config configures a Server.
type Config struct {
	// Service decides the requests to Envoy's rate limit service. It can be nil.
	Service *envoy.Service
	// NoInline rejects requests with inline limits.
	NoInline bool
	// Authorize decides the requests to Envoy's external authorization service. Deadline bounds each decision; 0
	// means no bound.
	Authorize *service.Service
	Deadline  time.Duration
	// MaxAge is the lifetime of a connection. When it ends the server sends GOAWAY, and after another MaxAgeGrace it
	// closes the connection. 0 means no bound. By reconnecting, clients find servers newly added to a load balancer.
	MaxAge, MaxAgeGrace time.Duration
	// MaxIdle is how long a connection stays open without a call; 0 means 15 minutes.
	MaxIdle time.Duration
	// Users lists the clients that may make calls. If it is nil, every client may. The health service's Check needs no
	// user, but its Watch and List do.
	Users *users.File
	// WrongSecret is called with the address of a client whose secret belongs to no user. It can be nil.
	WrongSecret func(client string)
	// Refused counts a call that is refused before a decision. It can be nil.
	Refused func(service.Refusal)
	// Peers limits one peer's share of the calls without a secret.
	Peers   peers.Rule
	maxCall time.Duration // 0 means the constant
	// Interceptors wrap each unary call. They run after its message has arrived.
	Interceptors []grpc.UnaryServerInterceptor
}

// Server is the gRPC server.
type Server struct {
	grpc   *grpc.Server
	health *health.Server
}

// names lists the services whose health is reported: the whole server, the name used by envoyproxy/ratelimit, and the
// services' own names.
var names = []string{"", "ratelimit", pb.RateLimitService_ServiceDesc.ServiceName, auth.Authorization_ServiceDesc.ServiceName}

// New returns a server. Its health is NOT_SERVING until SetServing.
func New(c Config) *Server {
	if c.Refused == nil {
		c.Refused = func(service.Refusal) {}
	}
	s := &Server{health: health.NewServer(), grpc: grpc.NewServer(
		grpc.ChainUnaryInterceptor(c.Interceptors...), grpc.InTapHandle(endIn(cmp.Or(c.maxCall, maxCall))), grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxConcurrentStreams(maxStreams), grpc.MaxRecvMsgSize(maxMessage), grpc.MaxHeaderListSize(maxHeader),
		grpc.ConnectionTimeout(connectTimeout),
		grpc.NumStreamWorkers(uint32(4*runtime.GOMAXPROCS(0))),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingEvery, MaxConnectionIdle: cmp.Or(c.MaxIdle, maxIdle), MaxConnectionAge: c.MaxAge, MaxConnectionAgeGrace: c.MaxAgeGrace}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
	)}
	s.SetServing(false)
	guarded := registrar{s.grpc, newGate(&c)}
	if c.Service != nil {
		pb.RegisterRateLimitServiceServer(guarded, &handler{service: c.Service, noInline: c.NoInline, refused: c.Refused})
	}
	if c.Authorize != nil {
		auth.RegisterAuthorizationServer(guarded, &authorizer{service: c.Authorize, deadline: c.Deadline})
	}
	healthpb.RegisterHealthServer(guarded, s.health)
	reflection.Register(guarded)
	return s
}

// Serve accepts connections until Shutdown, when it returns nil. It also returns nil if Shutdown was called before.
func (s *Server) Serve(l net.Listener) error {
	if err := s.grpc.Serve(l); !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// SetServing sets the health. After Drain it has no effect.
func (s *Server) SetServing(serving bool) {
	status := healthpb.HealthCheckResponse_NOT_SERVING
	if serving {
		status = healthpb.HealthCheckResponse_SERVING
	}
	for _, name := range names {
		s.health.SetServingStatus(name, status)
	}
}

// Drain sets the health to NOT_SERVING permanently. Requests are still answered.
func (s *Server) Drain() { s.health.Shutdown() }

// Shutdown sends GOAWAY on every connection and waits for calls in flight. If ctx ends first, it closes the
// connections.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Drain()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.grpc.GracefulStop()
	}()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		s.grpc.Stop()
		<-stopped
		return ctx.Err()
	}
}
