// Package grpcadapter limits the calls of a gRPC server.
//
//	limit := grpcadapter.New(perIP, httplimit.ByIP())
//	server := grpc.NewServer(grpc.UnaryInterceptor(limit.Unary), grpc.StreamInterceptor(limit.Stream))
//
// The keys and options come from package httplimit. Their functions receive a call as a POST to its full method, with
// the metadata as headers and the caller's address. A denied call fails with RESOURCE_EXHAUSTED, with RetryInfo and
// QuotaFailure as details. The rate-limit headers are sent as header metadata.
package grpcadapter

import (
	"context"
	"net/http"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/adapter/rpc"
	"github.com/headgate/headgate/httplimit"
)

// Interceptors provides the interceptors for one policy or decider. For an [httplimit.FinalCost], the response to a
// call is an HTTP response without a body, with the status for its code, such as 401 for Unauthenticated.
type Interceptors struct{ middleware *httplimit.Middleware }

// New returns Interceptors that charge each call to a policy, like [httplimit.New].
func New(policy *headgate.Policy, key httplimit.Key, options ...httplimit.Option) *Interceptors {
	return &Interceptors{httplimit.NewMiddleware(policy, key, options...)}
}

// By returns Interceptors that let a decider, such as the routes of a policies file, decide each call. See
// [httplimit.By].
func By(decider httplimit.Decider, options ...httplimit.Option) *Interceptors {
	return &Interceptors{httplimit.MiddlewareBy(decider, options...)}
}

// of returns the middleware, or nil, which refuses every call, if neither New nor By made the interceptors.
func (l *Interceptors) of() *httplimit.Middleware {
	if l == nil {
		return nil
	}
	return l.middleware
}

// Unary is a [grpc.UnaryServerInterceptor].
func (l *Interceptors) Unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (response any, err error) {
	md, _ := metadata.FromIncomingContext(ctx)
	err = l.call(ctx, info.FullMethod, md, func(header metadata.MD) error { return grpc.SetHeader(ctx, header) }, func() error {
		response, err = handler(ctx, request)
		return err
	})
	return response, err
}

// Stream is a [grpc.StreamServerInterceptor]. A stream is charged once, when it starts.
func (l *Interceptors) Stream(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	md, _ := metadata.FromIncomingContext(stream.Context())
	return l.call(stream.Context(), info.FullMethod, md, stream.SetHeader, func() error { return handler(service, stream) })
}

// Tap is a [tap.ServerInHandle] that denies calls before the server creates streams for them. It runs on the goroutine
// that reads the connection, so use it only with a memory store and without a pacer or [httplimit.InFlight]. It sees no
// responses: [httplimit.WithFinalCost] has no effect, and admitted calls get no headers.
func (l *Interceptors) Tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	answer := rpc.NewAnswer()
	charge, ok := l.of().Admit(answer, request(ctx, info.FullMethodName, info.Header))
	if !ok {
		return ctx, refusal(answer, &charge)
	}
	return ctx, nil
}

// call decides a call, serves it and settles its charge.
func (l *Interceptors) call(ctx context.Context, method string, md metadata.MD, setHeader func(metadata.MD) error, serve func() error) error {
	r, answer := request(ctx, method, md), rpc.NewAnswer()
	charge, ok := l.of().Admit(answer, r)
	header := metadata.MD{}
	answer.Limits(func(name, value string) { header.Append(name, value) })
	failed := setHeader(header)
	if !ok {
		return refusal(answer, &charge)
	}
	code := codes.Internal // if the handler panics
	defer func() { l.of().Settle(r, &charge, httplimit.Response{Status: rpc.Status(uint32(code))}) }()
	if failed != nil { // the client has left, or another interceptor has sent the headers
		if ctx.Err() != nil {
			code = codes.Canceled
		}
		return failed
	}
	err := serve()
	code = status.Code(err)
	return err
}

// request converts a call to an HTTP request.
func request(ctx context.Context, method string, md metadata.MD) *http.Request {
	header := make(http.Header, len(md))
	host := ""
	for name, values := range md {
		if name == ":authority" && len(values) > 0 {
			host = values[0]
		}
		if !strings.HasPrefix(name, ":") {
			header[http.CanonicalHeaderKey(name)] = values
		}
	}
	address := ""
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		address = p.Addr.String()
	}
	return rpc.Request(ctx, method, host, address, header)
}

// refusal returns the error for a refused call.
func refusal(answer *rpc.Answer, c *httplimit.Admission) error {
	s := status.New(codes.Code(answer.Code()), rpc.Message(answer, c))
	if answer.Code() != rpc.ResourceExhausted {
		return s.Err()
	}
	d := &c.Decision
	failure := &errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{Subject: d.Binding.Policy, Description: s.Message()}}}
	detailed, err := s.WithDetails(failure)
	if err == nil && d.RetryAfter != headgate.Never {
		detailed, err = detailed.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(d.RetryAfter)})
	}
	if err != nil { // cannot happen: both messages can be encoded
		return s.Err()
	}
	return detailed.Err()
}
