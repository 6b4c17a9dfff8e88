package httpapi

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/service"
)

// headerLimit is one limit in the headers. The numbers are those of one window, the
// binding one.
type headerLimit struct {
	name      string
	quota     int64 // the count of the rate
	capacity  int64 // never less than remaining
	window    int64 // in seconds; 0 if the period is not whole seconds
	remaining int64
	seconds   int64 // until a retry passes, or until the window is as if untouched
}

// writeHeaders writes the rate-limit headers in the form that the policy names, the
// binding limit first. A denial gets Retry-After and Cache-Control too.
func writeHeaders(h http.Header, q *service.Request, r *service.Response) {
	d := &r.Decision
	if !d.Allowed {
		h.Set("Cache-Control", "no-store")
		if d.RetryAfter != headgate.Never {
			h.Set("Retry-After", strconv.FormatInt(max(1, ceil(d.RetryAfter, time.Second)), 10))
		}
	}
	limits := headerLimits(q, r)
	if len(limits) == 0 {
		return
	}
	style := policy.HeadersDraft
	if r.Requested != nil {
		style = r.Requested.Headers
	}
	switch style {
	case policy.HeadersDraft:
		writeDraft(h, limits)
	case policy.HeadersDraft03:
		writeLegacy(h, "RateLimit-", &limits[0])
	case policy.HeadersXRateLimit:
		writeLegacy(h, "X-RateLimit-", &limits[0])
	case policy.HeadersOff:
	}
}

// headerLimits returns the limits for the headers, the binding one first. It leaves out
// those that limit nothing.
func headerLimits(q *service.Request, r *service.Response) []headerLimit {
	d := &r.Decision
	if d.Unlimited {
		return nil
	}
	if len(r.Limits) == 0 {
		state := engine.Standing{Limit: d.Limit, Remaining: d.Remaining, RetryAfter: d.RetryAfter, ResetAfter: d.ResetAfter}
		return []headerLimit{headerLimitOf(d.Binding.Name, &q.Limit, d.Binding.Rate, &state)}
	}
	var limits []headerLimit
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

func headerLimitOf(name string, l *headgate.Limit, rate headgate.Rate, s *engine.Standing) headerLimit {
	h := headerLimit{name: name, quota: rate.Count, capacity: s.Limit, remaining: s.Remaining}
	if rate.Period%time.Second == 0 {
		h.window = int64(rate.Period / time.Second)
	}
	h.seconds = ceil(untilRetryOrReset(l, rate, s), time.Second)
	return h
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

// writeDraft writes the two structured fields of draft-ietf-httpapi-ratelimit-headers.
func writeDraft(h http.Header, limits []headerLimit) {
	var quotas, states []byte
	for i := range limits {
		l := &limits[i]
		if i > 0 {
			quotas, states = append(quotas, ", "...), append(states, ", "...)
		}
		quotas = append(appendString(quotas, l.name), ";q="...)
		quotas = strconv.AppendInt(quotas, l.quota, 10)
		if l.window > 0 {
			quotas = strconv.AppendInt(append(quotas, ";w="...), l.window, 10)
		}
		states = append(appendString(states, l.name), ";r="...)
		states = strconv.AppendInt(states, l.remaining, 10)
		states = strconv.AppendInt(append(states, ";t="...), l.seconds, 10)
	}
	h["RateLimit-Policy"] = []string{string(quotas)} // as the draft spells it
	h["RateLimit"] = []string{string(states)}
}

// appendString appends a String of RFC 9651: printable ASCII, with quotes and backslashes
// escaped. Any other byte of a name becomes a question mark.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ' || c > '~':
			dst = append(dst, '?')
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// writeLegacy writes the Limit, Remaining and Reset of older drafts, for the binding limit
// alone. Limit is the capacity, so that Remaining is never above it: a burst can be larger
// than the count of the rate. Reset is seconds from now.
func writeLegacy(h http.Header, prefix string, l *headerLimit) {
	h[prefix+"Limit"] = []string{strconv.FormatInt(l.capacity, 10)}
	h[prefix+"Remaining"] = []string{strconv.FormatInt(l.remaining, 10)}
	h[prefix+"Reset"] = []string{strconv.FormatInt(l.seconds, 10)}
}
