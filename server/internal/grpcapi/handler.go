package grpcapi

import (
	"context"
	"errors"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/headgate/headgate/server/internal/envoy"
	"github.com/headgate/headgate/server/internal/requestid"
	"github.com/headgate/headgate/server/internal/service"
)

// handler implements ShouldRateLimit.
type handler struct {
	pb.UnimplementedRateLimitServiceServer

	service  *envoy.Service
	noInline bool // inline limits are refused
	refused  func(service.Refusal)
}

// ShouldRateLimit decides one request. The response headers contain the request's id if the client sent one, or if the
// request is denied or fails, because such a request may be logged.
func (h *handler) ShouldRateLimit(ctx context.Context, request *pb.RateLimitRequest) (*pb.RateLimitResponse, error) {
	sent := ""
	if values := metadata.ValueFromIncomingContext(ctx, requestid.Metadata); len(values) > 0 {
		sent = values[0]
	}
	ctx = requestid.With(ctx, sent)
	if err := permit(ctx, request, h.noInline, true); err != nil {
		h.refused(service.NoRight)
		return nil, status.Error(codes.PermissionDenied, err.Error())
	}
	response, err := h.service.ShouldRateLimit(ctx, request)
	if requestid.Valid(sent) || err != nil || response.OverallCode != pb.RateLimitResponse_OK {
		_ = grpc.SetHeader(ctx, metadata.MD{requestid.Metadata: {requestid.From(ctx)}}) // fails only if the client is gone
	}
	if err != nil {
		return nil, status.Error(codeOf(err), err.Error())
	}
	return response, nil
}

func codeOf(err error) codes.Code {
	if e, ok := errors.AsType[*envoy.Error](err); ok {
		return e.Code
	}
	return codes.Unknown
}
