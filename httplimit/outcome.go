package httplimit

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// Outcome derives a request's outcome, for [headgate.Policy.Outcome], from its response. A request with status 429 or
// 5xx has failed. For 429 and 503, Outcome also returns the Retry-After.
func Outcome(status int, h http.Header) (failed bool, retryAfter time.Duration) {
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		retryAfter, _ = ReadRetryAfter(h, time.Now())
	}
	return status == http.StatusTooManyRequests || status >= 500, retryAfter
}

// longestRetryAfter is the longest wait that a server can request.
const longestRetryAfter = algo.MaxReportedPause * time.Microsecond

// ReadRetryAfter parses the Retry-After header, which contains a number of seconds or a date. For a date, the wait
// is the time from the Date header to that date, or from now if there is no valid Date header. The wait is between
// 0 and 366 days. ok is false if the header is missing or invalid, or if its number has more than 15 digits.
func ReadRetryAfter(h http.Header, now time.Time) (wait time.Duration, ok bool) {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseUint(text, 10, 63); err == nil && len(text) <= 15 {
		return time.Duration(min(n, uint64(longestRetryAfter/time.Second))) * time.Second, true //nolint:gosec // it is small
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	if sent, err := http.ParseTime(h.Get("Date")); err == nil {
		now = sent
	}
	return min(longestRetryAfter, max(0, at.Sub(now))), true
}
