package httplimit

import (
	"context"
	"net/http"

	"github.com/headgate/headgate"
)

// Decider decides HTTP requests.
type Decider interface {
	AllowRequest(r *http.Request) (headgate.Decision, error)
}

// Settler is a [Decider] that says more than the decision, and can correct a charge once the
// response is known, which [WithFinalCost] needs. The limiter of a policies file is one: see package
// policy/decide.
type Settler interface {
	Decider
	// ChargeRequest decides as AllowRequest does. settles is true if [Answer].Settle is needed for
	// every request, and not only for those that a pacer delays.
	ChargeRequest(r *http.Request, settles bool) (Answer, error)
}

// Answer is what a [Settler] answers.
type Answer struct {
	Decision headgate.Decision
	// Limits are the limits of the request for its headers, the binding one first. Without them the
	// headers have the decision's binding limit.
	Limits []Limit
	// Style is the form of the headers, unless [WithHeaders] chooses one.
	Style Style
	// Cost is what the request was charged or, if it was denied, would have been charged.
	Cost int64
	// Settle corrects the charge to the units that the request cost in the end: 0 or more. It is nil
	// if nothing limits the request, or if it was not charged.
	Settle func(ctx context.Context, final int64) error
}

// Charge is what a request was charged. The zero value is no charge.
type Charge struct {
	// Decision is the decision of the request.
	Decision headgate.Decision
	// Units is what the request was to be charged.
	Units int64

	settle func(ctx context.Context, final int64) error // nil if the charge stays as it is
	policy *headgate.Policy                             // that was charged; nil with a decider
	limits []Limit                                      // of a decider
	style  Style                                        // of a decider; "" has none
}

// writeHeaders writes the limits of a decision.
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
		limits := c.policy.Limits()
		style.Write(h, LimitsOf(d, func(place int) (policy, unit string, limit headgate.Limit, cost int64) {
			return c.policy.Name(), "", limits[place], c.Units
		})...)
	default:
		style.Write(h, LimitOf(d, c.Units))
	}
}
