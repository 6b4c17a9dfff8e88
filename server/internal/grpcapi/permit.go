package grpcapi

import (
	"context"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/headgate/headgate/server/internal/envoy"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/users"
)

// permit returns an error if the client may not make the request. On a listener with users, giving hits back requires
// the user's right to write. On other listeners, giving hits back requires that writes is true.
func permit(ctx context.Context, r *pb.RateLimitRequest, noInline, writes bool) error {
	takes, gives, brings := false, false, false
	for _, d := range r.GetDescriptors() {
		gives = gives || d.GetIsNegativeHits()
		takes = takes || !d.GetIsNegativeHits()
		brings = brings || d.GetLimit() != nil
	}
	u, guarded := users.From(ctx)
	limits := service.PermitLimits(u, guarded, noInline)
	switch {
	case brings && limits != nil:
		return limits
	case !guarded && gives && !writes:
		return service.ErrWritesOff
	case !guarded:
		return nil
	case takes && !u.MayDecide():
		return users.ErrMayNotDecide
	case gives && !u.MayWrite():
		return users.ErrMayNotWrite
	}
	return u.CheckPolicy(envoy.Space + r.GetDomain()) // as a user's list of policies names a domain
}
