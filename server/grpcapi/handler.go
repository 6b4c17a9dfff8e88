package grpcapi

import (
	"context"
	"errors"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/headgate/headgate/server/envoy"
)

// handler answers ShouldRateLimit.
type handler struct {
	pb.UnimplementedRateLimitServiceServer

	service *envoy.Service
}

// ShouldRateLimit decides one request.
func (h *handler) ShouldRateLimit(ctx context.Context, request *pb.RateLimitRequest) (*pb.RateLimitResponse, error) {
	response, err := h.service.ShouldRateLimit(ctx, request)
	if err != nil {
		return nil, status.Error(codeOf(err), err.Error())
	}
	return response, nil
}

var grpcCodes = map[envoy.Code]codes.Code{
	envoy.Unknown:            codes.Unknown,
	envoy.InvalidArgument:    codes.InvalidArgument,
	envoy.FailedPrecondition: codes.FailedPrecondition,
	envoy.Unavailable:        codes.Unavailable,
}

func codeOf(err error) codes.Code {
	if e, ok := errors.AsType[*envoy.Error](err); ok {
		return grpcCodes[e.Code]
	}
	return codes.Unknown
}
