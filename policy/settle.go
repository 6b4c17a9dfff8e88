package policy

import (
	"context"
	"net/http"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/route"
)

// ChargeRequest decides as AllowRequest does. cost is that of the route's first policy, also
// where the request is denied; 0 without a route or a key.
//
// settle corrects the charge once the response is known: each limit of the route, shadows
// included, is then charged final units, 0 or more. What a limit was charged beyond that is
// given back; the rest is charged, as far as the limit has room, a bucket's debt included.
// settle is nil if nothing limits the request, or if it was not charged. Its errors are
// those of [headgate.Limiter.Allow].
func (l *Limiter) ChargeRequest(r *http.Request) (d headgate.Decision, cost int64, settle func(ctx context.Context, final int64) error, err error) {
	request, err := route.FromHTTP(r)
	if err != nil {
		return headgate.Decision{}, 0, nil, err
	}
	m, ok := l.config.Routes.Find(&request)
	if !ok {
		return headgate.Decision{Allowed: true, Unlimited: true}, 0, nil, nil
	}
	if m.NoKey != nil {
		return headgate.Decision{}, 0, nil, m.NoKey
	}
	key, charges, answers := l.charges(&m)
	ops, names := l.operations(engine.OpAllow, key, charges)
	for i := range ops {
		ops[i].Settled = true
	}
	d, results, err := l.run(r.Context(), ops, names, charges, answers)
	if len(charges) > 0 {
		cost = charges[0].Cost
	}
	if err != nil || !d.Allowed || d.Promise.OvershootMax == engine.Unbounded { // nothing was charged
		return d, cost, nil, err
	}
	return d, cost, l.limiter.Charged(ops, results).Settle, nil
}
