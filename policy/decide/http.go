package decide

import (
	"context"
	"net/http"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/route"
)

// AllowRequest charges an HTTP request as its route says, on all policies of the route or
// on none. A request without a route is allowed, and its decision is Unlimited. The error
// of a request without a part of the key is an [*httplimit.NoKeyError], unless the route skips such
// requests.
func (l *Limiter) AllowRequest(r *http.Request) (headgate.Decision, error) {
	response, err := l.ofHTTP(r, false)
	return response.Decision, err
}

// AllowMatch charges a request whose route is known.
func (l *Limiter) AllowMatch(ctx context.Context, m *route.Match) (headgate.Decision, error) {
	response, err := l.matched(ctx, m, false)
	return response.Decision, err
}

// ChargeRequest decides as AllowRequest does. cost is that of the route's first policy, also
// where the request is denied; 0 without a route or a key.
//
// settle corrects the charge once the response is known: each limit of the route, shadows
// included, is then charged final units, 0 or more. What a limit was charged beyond that is
// given back; the rest is charged, as far as the limit has room, a bucket's debt included.
// settle is nil if nothing limits the request, or if it was not charged. Its errors are
// those of [headgate.Limiter.Allow].
func (l *Limiter) ChargeRequest(r *http.Request) (d headgate.Decision, cost int64, settle func(ctx context.Context, final int64) error, err error) {
	response, err := l.ofHTTP(r, true)
	if response.Charged != nil {
		settle = response.Charged.Settle
	}
	return response.Decision, response.Cost, settle, err
}

func (l *Limiter) ofHTTP(r *http.Request, settled bool) (Response, error) {
	request, err := route.FromHTTP(r)
	if err != nil {
		return Response{}, err
	}
	m, ok := l.config.Routes.Find(&request)
	if !ok {
		return Response{Decision: headgate.Decision{Allowed: true, Unlimited: true}}, nil
	}
	return l.matched(r.Context(), &m, settled)
}

func (l *Limiter) matched(ctx context.Context, m *route.Match, settled bool) (Response, error) {
	if m.NoKey != nil {
		return Response{}, m.NoKey
	}
	response := l.do(ctx, &Request{Kind: engine.OpAllow, Route: m, Key: m.Key, Cost: m.Cost, HasCost: m.HasCost, Settled: settled})
	return response, response.Err
}
