package grpcapi

import (
	"cmp"
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/headgate/headgate/server/internal/peers"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/users"
)

// Bounds of calls.
const (
	// maxCall bounds the duration of a unary call, including the time until its message arrives.
	maxCall = 10 * time.Second
	// maxOpen is the maximum number of concurrent calls without a secret on a listener with users. maxOpenMessage is
	// the maximum length of their messages. On a listener without users no call contains a secret, and maxStreams
	// applies instead.
	maxOpen        = 1000
	maxOpenMessage = 64 << 10
)

// gate authenticates a call before its message is received, because receiving and decoding a message costs memory and
// time.
type gate struct {
	users   *users.File // nil admits every client
	wrong   func(client string)
	refused func(service.Refusal)
	open    *peers.Shares
}

func newGate(c *Config) *gate {
	most := maxOpen
	if c.Users == nil {
		most = maxStreams
	}
	return &gate{users: c.Users, wrong: c.WrongSecret, refused: c.Refused, open: peers.NewShares(most, c.Peers)}
}

// admittedCall is a call that has passed a gate.
type admittedCall struct {
	context.Context //nolint:containedctx // it carries the user

	conn  *peers.Conn
	place peers.Place // zero for a client with a secret
	most  int         // maximum message length in bytes
}

// enter admits a call by a user, or by any client if no user is required. The caller must call leave when the call
// ends.
func (g *gate) enter(ctx context.Context, method string) (c admittedCall, err error) {
	c = admittedCall{Context: ctx, most: maxMessage}
	open := g.users == nil
	if g.users != nil {
		if c.Context, open, err = g.user(ctx, method); err != nil {
			return admittedCall{}, err
		}
	}
	from, ok := peer.FromContext(ctx)
	if !ok {
		return admittedCall{}, status.Error(codes.Internal, "a call without a peer")
	}
	if open {
		place, verdict := g.open.Take(peers.Peer(from.Addr))
		if verdict != peers.Granted {
			return admittedCall{}, status.Error(codes.ResourceExhausted, "the maximum number of calls without a secret is running; accepted: fewer at once, or the secret of a user")
		}
		c.place = place
		if g.users != nil {
			c.most = maxOpenMessage
		}
	}
	c.conn = peers.Of(from.Addr)
	c.conn.Begin()
	return c, nil
}

func (c *admittedCall) leave() {
	c.conn.End()
	c.place.Free()
}

// user returns a context that carries the call's user. open is true if the call contains no secret.
func (g *gate) user(ctx context.Context, method string) (_ context.Context, open bool, err error) {
	if method == healthpb.Health_Check_FullMethodName { // load balancers' probes
		return ctx, true, nil
	}
	authorization := ""
	if values := metadata.ValueFromIncomingContext(ctx, "authorization"); len(values) > 0 {
		authorization = values[0]
	}
	u, err := g.users.Bearer(authorization)
	switch {
	case err != nil:
		if from, ok := peer.FromContext(ctx); ok && authorization != "" && g.wrong != nil {
			g.wrong(from.Addr.String())
		}
		g.refused(service.NoUser)
		return nil, false, status.Error(codes.Unauthenticated, err.Error())
	case !u.MayDecide():
		g.refused(service.NoRight)
		return nil, false, status.Error(codes.PermissionDenied, users.ErrMayNotDecide.Error())
	default:
		return users.With(ctx, u), authorization == "", nil
	}
}

// registrar registers services on a server, and wraps their methods so that each call must first pass a gate.
type registrar struct {
	*grpc.Server

	gate *gate
}

// RegisterService implements [grpc.ServiceRegistrar].
func (r registrar) RegisterService(desc *grpc.ServiceDesc, service any) {
	guarded := *desc
	guarded.Methods, guarded.Streams = slices.Clone(desc.Methods), slices.Clone(desc.Streams)
	for i := range guarded.Methods {
		m := &guarded.Methods[i]
		m.Handler = r.gate.unary("/"+desc.ServiceName+"/"+m.MethodName, m.Handler)
	}
	for i := range guarded.Streams {
		s := &guarded.Streams[i]
		s.Handler = r.gate.stream("/"+desc.ServiceName+"/"+s.StreamName, s.Handler)
	}
	r.Server.RegisterService(&guarded, service)
}

// unary returns a handler that receives the message (by calling decode) only after the gate has admitted the call.
func (g *gate) unary(method string, next grpc.MethodHandler) grpc.MethodHandler {
	return func(service any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		c, err := g.enter(ctx, method)
		if err != nil {
			return nil, err
		}
		defer c.leave()
		return next(service, c.Context, func(message any) error {
			in := bounded{message: message, most: c.most}
			return cmp.Or(decode(&in), in.err)
		}, interceptor)
	}
}

func (g *gate) stream(method string, next grpc.StreamHandler) grpc.StreamHandler {
	return func(service any, stream grpc.ServerStream) error {
		c, err := g.enter(stream.Context(), method)
		if err != nil {
			return err
		}
		defer c.leave()
		return next(service, stream)
	}
}

// streams lists the methods without a time limit, because their clients wait for changes.
var streams = []string{healthpb.Health_Watch_FullMethodName, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"}

// endIn returns a handler that runs when a call's headers have arrived. It limits the duration of unary calls,
// including the time until their message arrives.
func endIn(d time.Duration) tap.ServerInHandle {
	return func(ctx context.Context, info *tap.Info) (context.Context, error) {
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d || slices.Contains(streams, info.FullMethodName) {
			return ctx, nil
		}
		ctx, cancel := context.WithTimeout(ctx, d)
		_ = cancel // the server cancels the surrounding context at the end of the call
		return ctx, nil
	}
}
