package httplimit

import (
	"context"
	"net/http"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit/wire"
)

// Decider decides HTTP requests.
type Decider interface {
	AllowRequest(r *http.Request) (headgate.Decision, error)
}

// Settler is a [Decider] that returns more than the decision, and can correct a charge once the response is known, as
// [WithFinalCost] requires. The limiter for a policies file implements it: see package policy/filelimit.
type Settler interface {
	Decider
	// ChargeRequest decides like AllowRequest. The argument settles is true if every request needs [Answer].Settle, not
	// only requests that a pacer delays.
	ChargeRequest(r *http.Request, settles bool) (Answer, error)
}

// Answer is the result of [Settler].ChargeRequest.
type Answer struct {
	Decision headgate.Decision
	// Limits contains the request's limits as shown in the headers, with the binding limit first. If it is empty, the
	// headers show the decision's binding limit.
	Limits []HeaderLimit
	// CountedBy describes the key of the binding limit if the request has several keys, such as "header X-API-Key".
	CountedBy string
	// Style is the form of the headers, unless [WithHeaders] chooses one.
	Style Style
	// Cost is the number of units charged or, for a denied request, the units it would have cost.
	Cost int64
	// Settle corrects the charge to the request's final cost, which is 0 or more. It is nil if the request has no
	// limits or was not charged.
	Settle func(ctx context.Context, final int64) error
	// Outcome reports how the request ended, for limits with an adaptive rate. It is nil if no limit of the request has
	// one.
	Outcome func(failed bool, retryAfter time.Duration)
	// Done is called once when the request has been served, after Settle. It is nil if there is nothing to do.
	Done func()
}

// Admission is a decided request and its charge. The zero value means that nothing was charged.
type Admission struct {
	// Decision is the decision on the request.
	Decision headgate.Decision
	// Units is the cost of the request when it was decided. A later correction of the charge does not change it.
	Units int64

	settle  func(ctx context.Context, final int64) error // nil if the charge cannot be corrected
	outcome func(failed bool, retryAfter time.Duration)  // nil if no limit has an adaptive rate
	policy  *headgate.Policy                             // the charged policy; nil if a decider decided
	limits  []HeaderLimit                                // from a decider
	style   Style                                        // from a decider, or ""

	countedBy string // from a decider

	done func() // called when the request has been served; can be nil
}

// writeHeaders writes the rate-limit headers for a charge.
func (m *Middleware) writeHeaders(h http.Header, c *Admission) {
	d := &c.Decision
	if !d.Allowed {
		wire.RetryAfter(h, d.RetryAfter)
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
	case len(d.Limits) > 1:
		style.Write(h, limitsOf(d, func(int) int64 { return c.Units })...)
	default:
		style.Write(h, limitOf(d, c.Units))
	}
}
