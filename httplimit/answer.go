package httplimit

import (
	"context"
	"net/http"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/operate"
)

// Decider decides HTTP requests.
type Decider interface {
	AllowRequest(r *http.Request) (headgate.Decision, error)
}

// Settler is a [Decider] that returns more than the decision, and can correct a charge once the response is known, as
// [WithFinalCost] requires. The limiter of a policies file is one: see package policy/decide.
type Settler interface {
	Decider
	// ChargeRequest decides like AllowRequest. settles is true if every request needs [Answer].Settle, not only those
	// that a pacer delays.
	ChargeRequest(r *http.Request, settles bool) (Answer, error)
}

// Answer is a [Settler]'s answer.
type Answer struct {
	Decision headgate.Decision
	// Limits are the limits of the request for its headers, the binding one first. If it is empty, the headers show
	// the decision's binding limit.
	Limits []Limit
	// Style is the form of the headers, unless [WithHeaders] chooses one.
	Style Style
	// Cost is the number of units charged or, for a denied request, the units it would have cost.
	Cost int64
	// Settle corrects the charge to the final cost of the request: 0 or more. It is nil if nothing limits the
	// request, or if it was not charged.
	Settle func(ctx context.Context, final int64) error
	// Outcome reports how the request has ended, for limits whose rate adapts. It is nil if the request has no such
	// limit.
	Outcome func(failed bool, retryAfter time.Duration)
}

// Charge is the charge of a request. The zero value means no charge.
type Charge struct {
	// Decision is the decision of the request.
	Decision headgate.Decision
	// Units is the cost of the request, before the decision.
	Units int64

	settle  func(ctx context.Context, final int64) error // nil if the charge stays as it is
	outcome func(failed bool, retryAfter time.Duration)  // nil if no rate adapts
	policy  *headgate.Policy                             // the policy that was charged; nil with a decider
	limits  []Limit                                      // from a decider
	style   Style                                        // from a decider, or ""
}

// writeHeaders writes the rate-limit headers for a charge.
func (m *Middleware) writeHeaders(h http.Header, c *Charge) {
	d := &c.Decision
	if !d.Allowed {
		RetryAfter(h, d.RetryAfter)
	}
	if d.Unlimited || d.Limit == 0 && d.Binding.Rate == (headgate.Rate{}) {
		return
	}
	style := m.style
	if style == "" {
		style = c.style
	}
	if style == "" {
		style = Draft
	}
	switch {
	case c.limits != nil:
		style.Write(h, c.limits...)
	case c.policy != nil && len(d.Limits) > 1:
		limits := operate.Limits(c.policy)
		style.Write(h, LimitsOf(d, func(place int) (policy, unit string, limit engine.Limit, cost int64) {
			return c.policy.Name(), "", limits[place], c.Units
		})...)
	default:
		style.Write(h, LimitOf(d, c.Units))
	}
}
