package decide

import (
	"net/http"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/policy"
)

// HeaderLimits returns the limits of an answer for rate-limit headers, the binding one first. It
// leaves out those that limit nothing, and has none where nothing was decided.
func (r *Response) HeaderLimits() []httplimit.Limit {
	d := &r.Decision
	if d.Unlimited {
		return nil
	}
	if len(d.Limits) == 0 {
		if len(r.Limits) == 0 && r.Limit == (headgate.Limit{}) {
			return nil
		}
		limit := httplimit.LimitOf(d, r.Cost)
		limit.Unit = r.Unit
		return []httplimit.Limit{limit}
	}
	return httplimit.LimitsOf(d, func(place int) (policy, unit string, limit headgate.Limit, cost int64) {
		l := &r.Limits[place]
		return l.Policy, l.Unit, l.Limit, l.Cost
	})
}

// Style returns the form of the rate-limit headers: that of the policy.
func (r *Response) Style() httplimit.Style {
	if r.Requested == nil {
		return httplimit.Draft
	}
	return httplimit.Style(r.Requested.Headers)
}

// WriteHeaders writes the rate-limit headers in the form that the policy names. A denial gets
// Retry-After and Cache-Control too.
func (r *Response) WriteHeaders(h http.Header) {
	if !r.Decision.Allowed {
		httplimit.RetryAfter(h, r.Decision.RetryAfter)
	}
	r.Style().Write(h, r.HeaderLimits()...)
}

// ReplaceHeaders is WriteHeaders for an allowed request that another server has answered. That
// server's own rate-limit headers are removed, in every style, unless the policy writes none.
func (r *Response) ReplaceHeaders(h http.Header) {
	if r.Decision.Unlimited || r.Style() == httplimit.Style(policy.HeadersOff) {
		return
	}
	httplimit.RemoveHeaders(h)
	r.WriteHeaders(h)
}
