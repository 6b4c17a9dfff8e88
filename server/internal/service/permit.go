package service

import (
	"context"
	"errors"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/users"
)

// Causes of errors with the code Forbidden. Package users has more.
var (
	ErrWritesOff = errors.New("writes by clients are off; the server's --allow-writes turns them on")
	ErrInlineOff = errors.New("limits that come with a request are off (--no-inline); accepted: a policy")
)

// permit returns the reason why a front end or its user may not make this request. It returns nil if the request is
// permitted. A settlement needs only its handle. A routed request needs no right, because a trusted proxy describes it.
// Over gRPC the proxy can be a user, in which case it needs the right to the route's policies. Envoy's rate limit
// service has already checked the rights to its domain.
func (s *Service) permit(u *users.User, guarded bool, from FrontEnd, r *decide.Request) error {
	switch {
	case from == GRPC && r.Route != nil && guarded:
		return permitRoute(u, r.Route.Route)
	case from == Admin || from == GRPC && (r.Inline != nil || r.Items != nil) || r.Route != nil || r.Kind == engine.OpSettle || r.Kind == engine.OpRenew && r.Reservation != "":
		return nil
	}
	if err := s.permitVerb(u, guarded, r.Kind); err != nil {
		return err
	}
	for i := range r.Items {
		if err := s.permitPolicy(u, guarded, r.Items[i].Policy); err != nil {
			return err
		}
	}
	if r.Items != nil {
		return nil
	}
	return s.permitPolicy(u, guarded, r.Policy)
}

// permitPolicy returns the reason why a policy may not be used. If policy is "", it returns the reason why inline
// limits may not be used.
func (s *Service) permitPolicy(u *users.User, guarded bool, policy string) error {
	switch {
	case policy == "":
		return PermitLimits(u, guarded, s.config.NoInline)
	case guarded:
		return u.CheckPolicy(policy)
	default:
		return nil
	}
}

// Permit returns the reason why the user in ctx may not make requests of a kind, and the reason why these requests may
// not contain inline limits. Each is nil if these requests are allowed. A front end can use it to refuse a request
// before reading it. Do repeats these checks, and also checks the rights to the policy.
func (s *Service) Permit(ctx context.Context, kind engine.Kind) (verb, limits error) {
	if kind == engine.OpSettle {
		return nil, nil
	}
	var u *users.User
	guarded := false
	if s.config.Users {
		u, guarded = users.From(ctx)
	}
	return s.permitVerb(u, guarded, kind), PermitLimits(u, guarded, s.config.NoInline)
}

// permitVerb returns an error if the client may not make requests of this kind.
func (s *Service) permitVerb(u *users.User, guarded bool, kind engine.Kind) error {
	writes := kind == engine.OpGive || kind == engine.OpReset
	switch {
	case !guarded && writes && !s.config.AllowWrites:
		return ErrWritesOff
	case guarded && writes && !u.MayWrite():
		return users.ErrMayNotWrite
	case guarded && !writes && !u.MayDecide():
		return users.ErrMayNotDecide
	default:
		return nil
	}
}

// PermitLimits returns the reason why requests may not contain inline limits, or nil if they may. The user u counts if
// guarded is true.
func PermitLimits(u *users.User, guarded, noInline bool) error {
	switch {
	case noInline:
		return ErrInlineOff
	case guarded && !u.MayBringLimits():
		return users.ErrMayNotBring
	default:
		return nil
	}
}

// permitRoute returns an error if the user may not use all policies of a route.
func permitRoute(u *users.User, r *route.Route) error {
	for name := range r.Policies() {
		if err := u.CheckPolicy(name); err != nil {
			return err
		}
	}
	return nil
}
