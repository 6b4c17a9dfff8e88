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
	if m.Denied {
		return headgate.Decision{RetryAfter: headgate.Never}, 0, nil, nil
	}
	charges, answers := l.config.Policies.ForRoute(&m)
	ops, names := l.operations(engine.OpAllow, m.Key, charges)
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
	held := make([]*headgate.Reservation, len(results))
	for i := range results {
		held[i] = results[i].Reservation
	}
	return d, cost, func(ctx context.Context, final int64) error { return l.settle(ctx, ops, held, final) }, nil
}

// settle corrects the charges of a request by the reservations of its operations, so that no
// units come back that refill has replaced, and to no other window than they were charged to
// (known bug 58). A limit that was charged nothing has no part in a reservation: it is charged
// now. Each limit is corrected by itself: units that one has no room for must not stay
// uncharged on the others.
func (l *Limiter) settle(ctx context.Context, ops []engine.Op, held []*headgate.Reservation, final int64) (err error) {
	var more []engine.Op
	for i := range ops {
		corrected := false
		for _, c := range ops[i].Charges {
			switch {
			case c.Cost == 0 && final > 0 && !c.Limit.Unlimited():
				c.Cost = final
				more = append(more, engine.Op{Kind: engine.OpAllow, Key: ops[i].Key, Charges: []engine.Charge{c}, Shadow: ops[i].Shadow})
			case c.Cost != final && c.Cost > 0:
				corrected = true
			}
		}
		if corrected && held[i] != nil {
			err = cmp.Or(err, held[i].Commit(ctx, final))
		}
	}
	return cmp.Or(err, l.chargeMore(ctx, more))
}

// chargeMore charges each operation in full, a bucket's debt included, or else as far as its
// limit has room.
func (l *Limiter) chargeMore(ctx context.Context, ops []engine.Op) (err error) {
	if len(ops) == 0 {
		return nil
	}
	rest := make([]engine.Op, 0, len(ops))
	for i, result := range l.limiter.Do(ctx, ops, nil) {
		err = cmp.Or(err, result.Err)
		if result.Err == nil && !result.Decision.Allowed {
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
