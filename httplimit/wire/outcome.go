package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// Outcome derives a request's outcome, for [headgate.Policy.Outcome], from its response. A request with status 429 or
// 5xx, or with 403 and a Retry-After, has failed. For 403, 429 and 503, Outcome also returns the Retry-After.
func Outcome(status int, h http.Header) (failed bool, retryAfter time.Duration) {
	stated := false
	switch status {
	case http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		retryAfter, stated = ReadRetryAfter(h, time.Now())
	}
	return status == http.StatusTooManyRequests || status >= 500 || status == http.StatusForbidden && stated, retryAfter
}

// longestRetryAfter is the longest wait that a server can request.
const longestRetryAfter = algo.MaxReportedPause * time.Microsecond

// ReadRetryAfter parses the Retry-After header like [ReadWait], and rounds the wait up to whole seconds. ok is false if
// the header is missing or invalid.
func ReadRetryAfter(h http.Header, now time.Time) (wait time.Duration, ok bool) {
	wait, ok = ReadWait(h.Get("Retry-After"), h, now)
	return (wait + time.Second - 1).Truncate(time.Second), ok
}

// Numbers of seconds from which a number in a header is not a wait but a Unix time. As a wait, the first would be
// three years; as a Unix time in seconds, the second would be after the year 5000.
const (
	unixSeconds = 1e8
	unixMillis  = 1e11
)

// isoLayouts are the ISO 8601 forms that ReadWait accepts. All of them accept fractions of a second.
var isoLayouts = []string{time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05"}

// ReadWait parses the time that a rate-limit header of a response states, and returns the wait until then, between 0
// and 366 days. The text is a number of seconds, a Unix time in seconds or milliseconds, an HTTP date, or an ISO 8601
// time such as 2026-01-31T12:00:05Z (in UTC if it has no zone). Numbers and ISO 8601 times can have fractions. A number
// above 10⁸ is a Unix time. The wait until an instant is counted from the response's Date, or from now if it has no
// valid Date. ok is false for other texts, and for numbers with more than 15 digits before the point.
func ReadWait(text string, h http.Header, now time.Time) (wait time.Duration, ok bool) {
	text = strings.TrimSpace(text)
	if sent, err := http.ParseTime(h.Get("Date")); err == nil {
		now = sent
	}
	n, nanos, ok := decimal(text)
	switch {
	case !ok:
		var at time.Time
		at, ok = instant(text)
		wait = at.Sub(now)
	case n > unixMillis:
		wait = time.UnixMilli(n).Sub(now)
	case n > unixSeconds:
		wait = time.Unix(n, nanos).Sub(now)
	default:
		wait = min(longestRetryAfter, time.Duration(n)*time.Second+time.Duration(nanos))
	}
	if !ok {
		return 0, false
	}
	return min(longestRetryAfter, max(0, wait)), true
}

// instant parses an HTTP date or an ISO 8601 time.
func instant(text string) (at time.Time, ok bool) {
	if at, err := http.ParseTime(text); err == nil {
		return at, true
	}
	for _, layout := range isoLayouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// decimal parses a number without a sign, such as 1.5, into whole seconds and nanoseconds, rounded up.
func decimal(text string) (whole, nanos int64, ok bool) {
	before, after, dotted := strings.Cut(text, ".")
	if !digits(before) || dotted && !digits(after) || len(before) > 15 {
		return 0, 0, false
	}
	whole, err := strconv.ParseInt(before, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	const places = 9
	if len(after) > places {
		if strings.Trim(after[places:], "0") != "" {
			nanos = 1
		}
		after = after[:places]
	}
	part, _ := strconv.ParseInt(after+strings.Repeat("0", places-len(after)), 10, 64)
	return whole, nanos + part, true
}

func digits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
