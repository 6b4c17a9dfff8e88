package policy

import (
	"cmp"
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
	d, charges, err := l.chargeMatch(r.Context(), &m)
	if len(charges) > 0 {
		cost = charges[0].Cost
	}
	if err != nil || !d.Allowed || d.Promise.Mode == engine.Fallback {
		return d, cost, nil, err
	}
	key := m.Key
	return d, cost, func(ctx context.Context, final int64) error { return l.settle(ctx, key, charges, final) }, nil
}

// settle corrects the charges of a request. Each limit is corrected by itself: what one has
// no room for must not stay uncharged on the others.
func (l *Limiter) settle(ctx context.Context, key string, charges []Charge, final int64) error {
	ops := make([]engine.Op, 0, len(charges))
	for i := range charges {
		c := charges[i].Charge
		if c.Space == "" || c.Cost == final { // nothing limits, or nothing changes
			continue
		}
		op := engine.Op{Kind: engine.OpAllow, Key: key}
		if c.Cost > final {
			op.Kind = engine.OpGive
		}
		c.Space, c.Cost = l.limiter.InSpace(c.Space), max(final-c.Cost, c.Cost-final)
		op.Charges = []engine.Charge{c}
		ops = append(ops, op)
	}
	if len(ops) == 0 {
		return nil
	}
	results := l.limiter.Do(ctx, ops, nil)
	var err error
	rest := ops[:0]
	for i := range results {
		err = cmp.Or(err, results[i].Err)
		if results[i].Err == nil && ops[i].Kind == engine.OpAllow && !results[i].Decision.Allowed {
			ops[i].Kind = engine.OpAtMost
			rest = append(rest, ops[i])
		}
	}
	if len(rest) == 0 {
		return err
	}
	for _, result := range l.limiter.Do(ctx, rest, nil) {
		err = cmp.Or(err, result.Err)
	}
	return err
}
