package httplimit

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// Outcome returns how a request ended, by its answer, for [headgate.Policy.Outcome]: failed with the status 429 or 5xx,
// and the Retry-After of a 429 or 503.
func Outcome(status int, h http.Header) (failed bool, retryAfter time.Duration) {
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		retryAfter, _ = ReadRetryAfter(h, time.Now())
	}
	return status == http.StatusTooManyRequests || status >= 500, retryAfter
}

// longestRetryAfter is the longest wait that a server can request.
const longestRetryAfter = algo.MaxReportedPause * time.Microsecond

// ReadRetryAfter reads the header Retry-After: seconds from now, or a date, which is compared with the header Date. The
// longest wait is 366 days. ok is false without the header, and for a number with more than 15 digits.
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
