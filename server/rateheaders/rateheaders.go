// Package rateheaders writes the rate-limit headers of the service's answers, for every
// front end that has headers.
package rateheaders

import (
	"net/http"
	"strings"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/service"
)

// Write writes the rate-limit headers in the form that the policy names, the binding limit
// first. A denial gets Retry-After and Cache-Control too.
func Write(h http.Header, q *service.Request, r *service.Response) {
	d := &r.Decision
	if !d.Allowed {
		httplimit.RetryAfter(h, d.RetryAfter)
	}
	style := httplimit.Draft
	if r.Requested != nil {
		style = httplimit.Style(r.Requested.Headers)
	}
	limits := headerLimits(q, r)
	for i := range limits {
		limits[i].Cost = costOf(q, r)
	}
	style.Write(h, limits...)
}

// Replace is Write for an allowed request that another server has answered. That server's own
// rate-limit headers are removed, in every style, unless the policy writes none.
func Replace(h http.Header, q *service.Request, r *service.Response) {
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
func costOf(q *service.Request, r *service.Response) int64 {
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
func headerLimits(q *service.Request, r *service.Response) []httplimit.Limit {
	d := &r.Decision
	if d.Unlimited || q.Route != nil && q.Route.Denied {
		return nil
	}
	if len(r.Limits) == 0 {
		state := engine.Standing{Limit: d.Limit, Remaining: d.Remaining, RetryAfter: d.RetryAfter, ResetAfter: d.ResetAfter}
		return []httplimit.Limit{headerLimitOf(d.Binding.Name, &q.Limit, d.Binding.Rate, &state)}
	}
	var limits []httplimit.Limit
	add := func(l *service.LimitAnswer, rate headgate.Rate) {
		name := l.Policy
		if l.Decision.Name != engine.DefaultName && len(r.Limits) > 1 || name == "" {
			name = strings.TrimPrefix(name+"."+l.Decision.Name, ".")
		}
		if !l.Decision.Unlimited {
			limits = append(limits, headerLimitOf(name, &l.Limit, rate, &l.Decision.Standing))
		}
	}
	add(&r.Limits[d.Binding.Index], d.Binding.Rate)
	for i := range r.Limits {
		if l := &r.Limits[i]; i != d.Binding.Index {
			add(l, bindingRate(&l.Limit, l.Decision.Limit))
		}
	}
	return limits
}

// bindingRate returns the rate of the binding window of a limit. Its capacity identifies
// it: no two windows of a limit have the same count.
func bindingRate(l *headgate.Limit, capacity int64) headgate.Rate {
	rates := l.Rates()
	for _, rate := range rates {
		if rate.Count == capacity {
			return rate
		}
	}
	if len(rates) > 0 {
		return rates[0] // a bucket: its capacity is the burst
	}
	return headgate.Rate{}
}

func headerLimitOf(name string, l *headgate.Limit, rate headgate.Rate, s *engine.Standing) httplimit.Limit {
	return httplimit.Limit{Name: name, Rate: rate, Capacity: s.Limit, Remaining: s.Remaining, Until: untilRetryOrReset(l, rate, s)}
}

// untilRetryOrReset returns the time until a retry passes or, if that is now or never,
// until the binding window is as if untouched.
func untilRetryOrReset(l *headgate.Limit, rate headgate.Rate, s *engine.Standing) time.Duration {
	if s.RetryAfter > 0 && s.RetryAfter != headgate.Never {
		return s.RetryAfter
	}
	if l.Algorithm() != algo.SlidingLog {
		return s.ResetAfter
	}
	// ResetAfter of a log is that of its longest window. The newest entry leaves a
	// shorter window earlier, by the difference of their lengths.
	longest := time.Duration(l.Numbers().Longest()) * time.Microsecond
	return max(0, s.ResetAfter-(longest-rate.Period))
}
