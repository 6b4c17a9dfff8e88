// Package rateheaders writes the rate-limit headers of the service's answers, for every
// front end that has headers.
package rateheaders

import (
	"net/http"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
)

// Write writes the rate-limit headers in the form that the policy names, the binding limit
// first. A denial gets Retry-After and Cache-Control too.
func Write(h http.Header, q *decide.Request, r *decide.Response) {
	d := &r.Decision
	if !d.Allowed {
		httplimit.RetryAfter(h, d.RetryAfter)
	}
	style := httplimit.Draft
	if r.Requested != nil {
		style = httplimit.Style(r.Requested.Headers)
	}
	style.Write(h, headerLimits(q, r)...)
}

// Replace is Write for an allowed request that another server has answered. That server's own
// rate-limit headers are removed, in every style, unless the policy writes none.
func Replace(h http.Header, q *decide.Request, r *decide.Response) {
	if r.Decision.Unlimited || r.Requested != nil && r.Requested.Headers == policy.HeadersOff {
		return
	}
	for _, name := range names {
		delete(h, name)
	}
	Write(h, q, r)
}

// names are the headers of all styles, as net/http reads them.
var names = []string{
	"Ratelimit", "Ratelimit-Policy", "Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset",
	"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset",
	"X-Ratelimit-Replenish-Rate", "X-Ratelimit-Burst-Capacity", "X-Ratelimit-Requested-Tokens",
}

// costOf returns what the request was to be charged.
func costOf(q *decide.Request, r *decide.Response) int64 {
	switch {
	case q.HasCost:
		return q.Cost
	case r.Requested != nil:
		return r.Requested.Cost
	default:
		return 1
	}
}

// headerLimits returns the limits for the headers, the binding one first. It leaves out
// those that limit nothing. A request without a part of the key of its route is denied by none.
func headerLimits(q *decide.Request, r *decide.Response) []httplimit.Limit {
	d := &r.Decision
	if d.Unlimited || q.Route != nil && q.Route.NoKey != nil {
		return nil
	}
	cost := costOf(q, r)
	if len(r.Limits) == 0 {
		return []httplimit.Limit{httplimit.LimitOf(d, d.Binding.Name, cost)}
	}
	nameOf := func(l *decide.LimitAnswer) string {
		if l.Decision.Name != engine.DefaultName && len(r.Limits) > 1 || l.Policy == "" {
			return strings.TrimPrefix(l.Policy+"."+l.Decision.Name, ".")
		}
		return l.Policy
	}
	var limits []httplimit.Limit
	if l := &r.Limits[d.Binding.Index]; !l.Decision.Unlimited {
		limits = append(limits, httplimit.LimitOf(d, nameOf(l), cost))
	}
	for i := range r.Limits {
		l := &r.Limits[i]
		at := &l.Decision
		if i == d.Binding.Index || at.Unlimited {
			continue
		}
		limits = append(limits, httplimit.Limit{
			Name: nameOf(l), Rate: l.Limit.Rate(at.Window), Capacity: at.Limit, Remaining: at.Remaining,
			Until: httplimit.Until(at.RetryAfter, at.ResetAfter-l.Limit.Earlier(at.Window)), Cost: cost,
		})
	}
	return limits
}
