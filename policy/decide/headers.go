package decide

import (
	"net/http"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit/wire"
	"github.com/headgate/headgate/policy"
)

// HeaderLimits returns the limits for the response's rate-limit headers, the binding one first. It omits limits that
// allow everything, and limits of policies without headers: their numbers are of all clients together, for example. It
// returns nil if nothing was decided.
func (r *Response) HeaderLimits() []wire.HeaderLimit {
	if r.Unlimited() || r.Count() == 0 {
		return nil
	}
	limits := make([]wire.HeaderLimit, 0, r.Count())
	add := func(i int) {
		c, s := r.Charge(i), r.Of(i)
		if s.Unlimited || hidden(c) {
			return
		}
		name := c.Policy
		if r.Count() > 1 || name == "" {
			name = wire.LimitName(name, c.Limit.Name())
		}
		limits = append(limits, wire.HeaderLimit{
			Name: name, Unit: c.Unit(), Rate: s.Rate(c.Limit), Capacity: s.Limit, Remaining: s.Remaining,
			Until: wire.Until(retryAfter(c.Limit, s), s.ResetAfter-c.Limit.Earlier(s.Window)), Cost: c.Cost,
		})
	}
	add(r.Binding)
	for i := range r.Count() {
		if i != r.Binding {
			add(i)
		}
	}
	return limits
}

// hidden reports whether a limit's policy has no headers.
func hidden(c *policy.Charge) bool { return c.Owner != nil && c.Owner.Headers == policy.HeadersOff }

// Style returns the policy's style of rate-limit headers. It is draft for a request without a policy. If the binding
// limit of a route is of a policy without headers, the style is that of the first policy of the request with headers.
func (r *Response) Style() wire.Style {
	switch {
	case r.Requested == nil:
		return wire.Draft
	case r.Requested.Headers != policy.HeadersOff:
		return wire.Style(r.Requested.Headers)
	}
	for i := range r.Count() {
		if c := r.Charge(i); c.Owner != nil && c.Owner != r.Requested && !r.Requested.Combined() && !hidden(c) {
			return wire.Style(c.Owner.Headers)
		}
	}
	return wire.Off
}

// WriteRetryAfter writes Retry-After and Cache-Control for a denial. The Retry-After of a concurrency limit is at most a
// second, see [wire.SoonestRelease].
func (r *Response) WriteRetryAfter(h http.Header) {
	wire.RetryAfter(h, retryAfter(r.Limit(), r.Binds()))
}

func retryAfter(limit engine.Limit, s *engine.Standing) time.Duration {
	if limit.Algorithm().Holds() {
		return wire.SoonestRelease(s.RetryAfter)
	}
	return s.RetryAfter
}

// WriteHeaders writes the rate-limit headers in the policy's style. A denial also gets Retry-After and Cache-Control.
func (r *Response) WriteHeaders(h http.Header) {
	if !r.Allowed {
		r.WriteRetryAfter(h)
	}
	r.Style().Write(h, r.HeaderLimits()...)
}

// ReplaceHeaders acts like WriteHeaders for an allowed request whose response comes from another server. It also
// removes that server's own rate-limit headers in every style. It changes nothing if the decision is unlimited or if
// the policy writes no headers.
func (r *Response) ReplaceHeaders(h http.Header) {
	if r.Binds().Unlimited || r.Style() == wire.Style(policy.HeadersOff) {
		return
	}
	wire.RemoveHeaders(h)
	r.WriteHeaders(h)
}
