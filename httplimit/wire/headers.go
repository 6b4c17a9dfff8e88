package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
)

// Style is a form of rate-limit headers.
type Style string

// The styles.
const (
	// Draft is RateLimit and RateLimit-Policy of draft-ietf-httpapi-ratelimit-headers.
	Draft Style = "draft"
	// Draft03 is RateLimit-Limit, -Remaining and -Reset of older versions of that draft.
	Draft03 Style = "draft-03"
	// XRateLimit is X-RateLimit-Limit, -Remaining and -Reset.
	XRateLimit Style = "x-ratelimit"
	// Spring uses the header names of Spring Cloud Gateway: X-RateLimit-Remaining, -Replenish-Rate (units per second,
	// rounded down), -Burst-Capacity and -Requested-Tokens.
	Spring Style = "spring"
	// Off writes no rate-limit headers. Denials still contain Retry-After.
	Off Style = "off"
)

// HeaderLimit is one limit as shown in the headers. Its fields describe the binding window.
type HeaderLimit struct {
	// Name is the name of the policy, or of one limit within the policy.
	Name string
	// Unit names the unit, such as "tokens". It can be empty.
	Unit string
	// Rate is the rate of the limit as written.
	Rate engine.Rate
	// Capacity is the number of units that can pass at once, such as a bucket's burst. Remaining never exceeds it.
	Capacity, Remaining int64
	// Until is the time until a retry can pass. If a retry can pass now or can never pass, it is the time until all
	// units of the binding window are available again.
	Until time.Duration
	// Cost is the number of units charged.
	Cost int64
}

// Until returns the time until a retry can pass. If a retry can pass now or can never pass, it returns the time until
// all units are available again.
func Until(retry, reset time.Duration) time.Duration {
	if retry > 0 && retry != engine.Never {
		return retry
	}
	return max(0, reset)
}

// LimitName returns the name of one of several limits: policy.limit. For a limit without a name it returns just the
// policy.
func LimitName(policy, limit string) string {
	switch {
	case policy == "":
		return limit
	case limit == engine.DefaultName:
		return policy
	default:
		return policy + "." + limit
	}
}

// SoonestRelease returns the Retry-After of a denial by a concurrency limit: at most a second. The decision's wait is the
// time until the oldest permit expires, which is long after most holders have released theirs.
func SoonestRelease(wait time.Duration) time.Duration {
	if wait == engine.Never {
		return wait
	}
	return min(wait, time.Second)
}

// RetryAfter sets the headers that a denial contains in every style: Cache-Control and, unless the request can never
// pass, Retry-After in whole seconds, at least 1.
func RetryAfter(h http.Header, wait time.Duration) {
	h.Set("Cache-Control", "no-store")
	if wait != engine.Never {
		h.Set("Retry-After", strconv.FormatInt(max(1, format.Ceil(wait, time.Second)), 10))
	}
}

// Write writes the headers for the limits. The binding limit must come first. Draft appends all of them to the values
// already in h, such as an outer middleware's. The other styles replace the values in h with the first limit.
func (s Style) Write(h http.Header, limits ...HeaderLimit) {
	if len(limits) == 0 {
		return
	}
	switch l := &limits[0]; s {
	case Draft:
		writeDraft(h, limits)
	case Draft03:
		writeThree(h, l, "Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset")
	case XRateLimit:
		writeThree(h, l, "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset")
	case Spring:
		writeSpring(h, l)
	case Off:
	}
}

// names lists the headers of all styles, in net/http's canonical form.
var names = []string{
	"Ratelimit", "Ratelimit-Policy", "Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset",
	"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset",
	"X-Ratelimit-Replenish-Rate", "X-Ratelimit-Burst-Capacity", "X-Ratelimit-Requested-Tokens",
}

// RemoveHeaders removes the rate-limit headers of every style.
func RemoveHeaders(h http.Header) {
	for _, name := range names {
		delete(h, name)
	}
}

// draftFields holds the text of both structured fields, so that they need only one allocation.
type draftFields struct {
	values [2]string
	text   [96]byte
}

// write returns the two values: the parts of text before and after the index place.
func (f *draftFields) write(text []byte, place int) []string {
	var all string
	if len(text) <= len(f.text) {
		copy(f.text[:], text)
		all = unsafe.String(&f.text[0], len(text)) // nothing writes to f after this
	} else {
		all = string(text)
	}
	f.values = [2]string{all[:place], all[place:]}
	return f.values[:]
}

// writeDraft writes the two structured fields.
func writeDraft(h http.Header, limits []HeaderLimit) {
	var space [256]byte
	text := space[:0]
	for i := range limits {
		l := &limits[i]
		if i > 0 {
			text = append(text, ", "...)
		}
		text = strconv.AppendInt(append(appendString(text, l.Name), ";q="...), l.Rate.Count, 10)
		if l.Unit != "" {
			text = appendString(append(text, ";qu="...), l.Unit)
		}
		if period := l.Rate.Period; period >= time.Second && period%time.Second == 0 {
			text = strconv.AppendInt(append(text, ";w="...), int64(period/time.Second), 10)
		}
	}
	policies := len(text)
	for i := range limits {
		l := &limits[i]
		if i > 0 {
			text = append(text, ", "...)
		}
		text = strconv.AppendInt(append(appendString(text, l.Name), ";r="...), l.Remaining, 10)
		text = strconv.AppendInt(append(text, ";t="...), format.Ceil(l.Until, time.Second), 10)
	}
	values := new(draftFields).write(text, policies)
	h["Ratelimit-Policy"] = withOuter(h["Ratelimit-Policy"], values[0:1:1])
	h["Ratelimit"] = withOuter(h["Ratelimit"], values[1:2:2])
}

// withOuter appends a value to the list from an outer middleware, if there is one.
func withOuter(list, value []string) []string {
	if len(list) == 0 {
		return value
	}
	return []string{strings.Join(list, ", ") + ", " + value[0]}
}

// appendString appends a String as defined in RFC 9651: printable ASCII, with quotes and backslashes escaped. Other
// bytes become question marks.
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

// writeThree writes the headers of older drafts. Limit is the capacity, not the count of the rate, because a burst can
// be larger than that count and Remaining must not exceed Limit. Reset is in seconds from now.
func writeThree(h http.Header, l *HeaderLimit, limit, remaining, reset string) {
	h[limit] = []string{strconv.FormatInt(l.Capacity, 10)}
	h[remaining] = []string{strconv.FormatInt(l.Remaining, 10)}
	h[reset] = []string{strconv.FormatInt(format.Ceil(l.Until, time.Second), 10)}
}

func writeSpring(h http.Header, l *HeaderLimit) {
	rate := int64(0)
	if l.Rate.Period > 0 {
		rate = int64(float64(l.Rate.Count) / l.Rate.Period.Seconds())
	}
	h["X-Ratelimit-Remaining"] = []string{strconv.FormatInt(l.Remaining, 10)}
	h["X-Ratelimit-Replenish-Rate"] = []string{strconv.FormatInt(rate, 10)}
	h["X-Ratelimit-Burst-Capacity"] = []string{strconv.FormatInt(l.Capacity, 10)}
	h["X-Ratelimit-Requested-Tokens"] = []string{strconv.FormatInt(l.Cost, 10)}
}
