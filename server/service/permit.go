package service

import (
	"errors"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/users"
)

// The causes of Forbidden, beside those of package users.
var (
	ErrWritesOff = errors.New("writes by clients are off; the server's --allow-writes turns them on")
	ErrInlineOff = errors.New("limits that come with a request are off (--no-inline); accepted: a policy")
)

// permit returns why a front end or its user may not ask this. A settlement needs no other
// right than its handle, and a request with a route none: it is described by a trusted proxy.
// Over gRPC that proxy can be a user, which may use the policies of the route or not.
func (s *Service) permit(b *batch, from FrontEnd, r *Request) error {
	switch {
	case from == GRPC && r.Route != nil && b.guarded:
		return permitRoute(b.user, r.Route.Route.Policies)
	case from == Admin || r.Route != nil || r.Kind == engine.OpSettle:
		return nil
	}
	inline := r.Policy == ""
	writes := r.Kind == engine.OpGive || r.Kind == engine.OpReset
	if inline && s.config.NoInline {
		return ErrInlineOff
	}
	if !b.guarded {
		if writes && !s.config.AllowWrites {
			return ErrWritesOff
		}
		return nil
	}
	switch u := b.user; {
	case writes && !u.MayAdminister():
		return users.ErrMayNotAdminister
	case !writes && !u.MayTake():
		return users.ErrMayNotTake
	case inline && !u.MayBringLimits():
		return users.ErrMayNotBring
	case r.Policy != "":
		return u.CheckPolicy(r.Policy)
	default:
		return nil
	}
}

// permitRoute returns an error if the user may not use all policies of a route.
func permitRoute(u *users.User, policies []string) error {
	for _, name := range policies {
		if err := u.CheckPolicy(name); err != nil {
			return err
		}
	}
	return nil
}
