package httpapi

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/server/policy"
	"github.com/headgate/headgate/server/service"
)

// field is one limit as the headers tell it: quota, window, remaining and
// seconds are of one window, the binding one.
type field struct {
	name      string
	quota     int64 // the rate's count
	capacity  int64 // never less than remaining
	window    int64 // seconds; 0 where it is not a whole number of them
	remaining int64
	seconds   int64
}

// writeHeaders tells the client what is left, the binding limit first, by the
// writer that the policy names.
func writeHeaders(h http.Header, q *service.Request, r *service.Response) {
	d := &r.Decision
	if !d.Allowed {
		h.Set("Cache-Control", "no-store")
		if d.RetryAfter != headgate.Never {
			h.Set("Retry-After", strconv.FormatInt(max(1, ceil(d.RetryAfter, time.Second)), 10))
		}
	}
	fields := fieldsOf(q, r)
	if len(fields) == 0 {
		return
	}
	style := policy.HeadersDraft
	if r.Requested != nil {
		style = r.Requested.Headers
	}
	switch style {
	case policy.HeadersDraft:
		writeDraft(h, fields)
	case policy.HeadersDraft03:
		writeThree(h, "RateLimit-", &fields[0])
	case policy.HeadersXRateLimit:
		writeThree(h, "X-RateLimit-", &fields[0])
	case policy.HeadersOff:
	}
}

// fieldsOf returns what the headers tell, the binding limit first. Limits that
// limit nothing have no field.
func fieldsOf(q *service.Request, r *service.Response) []field {
	d := &r.Decision
	if d.Unlimited {
		return nil
	}
	if len(r.Parts) == 0 {
		state := engine.Standing{Limit: d.Limit, Remaining: d.Remaining, RetryAfter: d.RetryAfter, ResetAfter: d.ResetAfter}
		return []field{fieldOf(d.Binding.Name, &q.Limit, d.Binding.Rate, &state)}
	}
	var fields []field
	add := func(p *service.Part, rate headgate.Rate) {
		name := p.Policy
		if p.State.Name != engine.DefaultName && len(r.Parts) > 1 || name == "" {
			name = strings.TrimPrefix(name+"."+p.State.Name, ".")
		}
		if !p.State.Unlimited {
			fields = append(fields, fieldOf(name, &p.Limit, rate, &p.State.Standing))
		}
	}
	add(&r.Parts[d.Binding.Index], d.Binding.Rate)
	for i := range r.Parts {
		if p := &r.Parts[i]; i != d.Binding.Index {
			add(p, bindingRate(&p.Limit, p.State.Limit))
		}
	}
	return fields
}

// bindingRate returns the rate of the window that a state is of. Its capacity
// tells which: no two windows of a limit have the same.
func bindingRate(l *headgate.Limit, capacity int64) headgate.Rate {
	rates := l.Rates()
	for _, rate := range rates {
		if rate.Count == capacity {
			return rate
		}
	}
	if len(rates) > 0 {
		return rates[0] // a bucket's capacity is its burst
	}
	return headgate.Rate{}
}

func fieldOf(name string, l *headgate.Limit, rate headgate.Rate, s *engine.Standing) field {
	f := field{name: name, quota: rate.Count, capacity: s.Limit, remaining: s.Remaining}
	if rate.Period%time.Second == 0 {
		f.window = int64(rate.Period / time.Second)
	}
	f.seconds = ceil(left(l, rate, s), time.Second)
	return f
}

// left returns the time until a retry passes or, where that is now or never,
// until the binding window is as untouched.
func left(l *headgate.Limit, rate headgate.Rate, s *engine.Standing) time.Duration {
	if s.RetryAfter > 0 && s.RetryAfter != headgate.Never {
		return s.RetryAfter
	}
	if l.Algorithm() != algo.SlidingLog {
		return s.ResetAfter
	}
	// A log's reset is that of its longest window. The newest entry leaves a
	// shorter one earlier, by the difference of the two.
	longest := time.Duration(l.Numbers().Longest()) * time.Microsecond
	return max(0, s.ResetAfter-(longest-rate.Period))
}

// writeDraft writes the two structured fields of the current draft.
func writeDraft(h http.Header, fields []field) {
	var quotas, states []byte
	for i := range fields {
		f := &fields[i]
		if i > 0 {
			quotas, states = append(quotas, ", "...), append(states, ", "...)
		}
		quotas = append(appendString(quotas, f.name), ";q="...)
		quotas = strconv.AppendInt(quotas, f.quota, 10)
		if f.window > 0 {
			quotas = strconv.AppendInt(append(quotas, ";w="...), f.window, 10)
		}
		states = append(appendString(states, f.name), ";r="...)
		states = strconv.AppendInt(states, f.remaining, 10)
		states = strconv.AppendInt(append(states, ";t="...), f.seconds, 10)
	}
	h["RateLimit-Policy"] = []string{string(quotas)} // as the draft spells it
	h["RateLimit"] = []string{string(states)}
}

// appendString appends a String of RFC 9651: printable ASCII, with quotes and
// backslashes escaped. Other bytes of a name become question marks.
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

// writeThree writes the older triple, of the binding limit alone. Limit is the
// capacity, which a burst makes more than the rate's count, so that Remaining is
// never above it. Reset is seconds from now.
func writeThree(h http.Header, prefix string, f *field) {
	h[prefix+"Limit"] = []string{strconv.FormatInt(f.capacity, 10)}
	h[prefix+"Remaining"] = []string{strconv.FormatInt(f.remaining, 10)}
	h[prefix+"Reset"] = []string{strconv.FormatInt(f.seconds, 10)}
}
