package decide

import (
	"net/http"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/policy"
)

// HeaderLimits returns the limits for the response's rate-limit headers, the binding one first. It omits limits that
// allow everything. It returns nil if nothing was decided.
func (r *Response) HeaderLimits() []httplimit.HeaderLimit {
	d := &r.Decision
	if d.Unlimited {
		return nil
	}
	if len(d.Limits) == 0 {
		if len(r.Limits) == 0 && r.Limit == (engine.Limit{}) {
			return nil
		}
		limit := httplimit.LimitOf(d, r.Cost)
		limit.Unit = r.Unit
		return []httplimit.HeaderLimit{limit}
	}
	return httplimit.LimitsOf(d, func(place int) (policy, unit string, limit engine.Limit, cost int64) {
		l := &r.Limits[place]
		return l.Policy, l.Unit, l.Limit, l.Cost
	})
}

// Style returns the policy's style of rate-limit headers. It is draft for a request without a policy.
func (r *Response) Style() httplimit.Style {
	if r.Requested == nil {
		return httplimit.Draft
	}
	return httplimit.Style(r.Requested.Headers)
}

// WriteHeaders writes the rate-limit headers in the policy's style. A denial also gets Retry-After and Cache-Control.
func (r *Response) WriteHeaders(h http.Header) {
	if !r.Decision.Allowed {
		httplimit.RetryAfter(h, r.Decision.RetryAfter)
	}
	r.Style().Write(h, r.HeaderLimits()...)
}

// ReplaceHeaders acts like WriteHeaders for an allowed request whose response comes from another server. It also
// removes that server's own rate-limit headers in every style. It changes nothing if the decision is unlimited or if
// the policy writes no headers.
func (r *Response) ReplaceHeaders(h http.Header) {
	if r.Decision.Unlimited || r.Style() == httplimit.Style(policy.HeadersOff) {
		return
	}
	httplimit.RemoveHeaders(h)
	r.WriteHeaders(h)
}
