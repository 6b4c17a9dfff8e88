// Package connectadapter limits the calls of Connect handlers, unary and streaming.
//
//	connect.WithInterceptors(connectadapter.New(perIP, httplimit.ByIP()))
//
// The keys and options come from package httplimit. Their functions receive a call as a POST to its procedure, with the
// caller's headers and address. A denied call fails with resource_exhausted. Its details are RetryInfo and
// QuotaFailure, and its metadata contains the rate-limit headers. A stream is charged once, when it starts.
package connectadapter

import (
	"context"
	"errors"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/adapter/rpc"
	"github.com/headgate/headgate/httplimit"
)

// New returns an interceptor that charges each call to a policy, like [httplimit.New]. Calls made by clients are not
// affected. For an [httplimit.FinalCost], the response to a call is an HTTP response without a body, with the status
// for its code, such as 401 for unauthenticated.
func New(policy *headgate.Policy, key httplimit.Key, options ...httplimit.Option) connect.Interceptor {
	return &interceptor{httplimit.NewMiddleware(policy, key, options...)}
}

// By returns an interceptor that lets a decider, such as the routes of a policies file, decide each call. See
// [httplimit.By].
func By(decider httplimit.Decider, options ...httplimit.Option) connect.Interceptor {
	return &interceptor{httplimit.MiddlewareBy(decider, options...)}
}

type interceptor struct{ middleware *httplimit.Middleware }

// WrapUnary limits unary handlers.
func (i *interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, call connect.AnyRequest) (connect.AnyResponse, error) {
		if call.Spec().IsClient {
			return next(ctx, call)
		}
		r := rpc.Request(ctx, call.Spec().Procedure, call.Header().Get("Host"), call.Peer().Addr, call.Header())
		answer := rpc.NewAnswer()
		charge, ok := i.middleware.Admit(answer, r)
		if !ok {
			return nil, refusal(answer, &charge)
		}
		status := rpc.Status(uint32(connect.CodeInternal)) // if the handler panics
		defer func() { i.middleware.Settle(r, &charge, httplimit.Response{Status: status}) }()
		response, err := next(ctx, call)
		status = statusOf(err)
		if err == nil && response != nil {
			answer.Limits(func(name, value string) { response.Header().Set(name, value) })
		}
		return response, err
	}
}

// WrapStreamingHandler limits streams.
func (i *interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		r := rpc.Request(ctx, conn.Spec().Procedure, conn.RequestHeader().Get("Host"), conn.Peer().Addr, conn.RequestHeader())
		answer := rpc.NewAnswer()
		charge, ok := i.middleware.Admit(answer, r)
		if !ok {
			return refusal(answer, &charge)
		}
		answer.Limits(func(name, value string) { conn.ResponseHeader().Set(name, value) })
		status := rpc.Status(uint32(connect.CodeInternal)) // if the handler panics
		defer func() { i.middleware.Settle(r, &charge, httplimit.Response{Status: status}) }()
		err := next(ctx, conn)
		status = statusOf(err)
		return err
	}
}

// WrapStreamingClient returns next, because clients' own calls are not limited.
func (i *interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func statusOf(err error) int {
	if err == nil {
		return rpc.Status(0)
	}
	return rpc.Status(uint32(connect.CodeOf(err)))
}

// refusal returns the error for a refused call.
func refusal(answer *rpc.Answer, c *httplimit.Admission) error {
	err := connect.NewError(connect.Code(answer.Code()), errors.New(rpc.Message(answer, c)))
	answer.Limits(func(name, value string) { err.Meta().Set(name, value) })
	if answer.Code() != rpc.ResourceExhausted {
		return err
	}
	d := &c.Decision
	failure := &errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{Subject: d.Binding.Policy, Description: err.Message()}}}
	if detail, wrong := connect.NewErrorDetail(failure); wrong == nil {
		err.AddDetail(detail)
	}
	if d.RetryAfter == headgate.Never {
		return err
	}
	if detail, wrong := connect.NewErrorDetail(&errdetails.RetryInfo{RetryDelay: durationpb.New(d.RetryAfter)}); wrong == nil {
		err.AddDetail(detail)
	}
	return err
}
