package httplimit_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/httplimit/wire"
)

// Regression: bug 128.
func TestReadRetryAfter(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"0": 0, "3": 3 * time.Second, " 3 ": 3 * time.Second, "999999999999999": 366 * day,
		"30.0": 30 * time.Second, "1.5": 2 * time.Second, "0.000000000001": time.Second, "1769860805": 5 * time.Second, "1769860805250": 6 * time.Second,
		"Sat, 31 Jan 2026 12:00:05 GMT": 5 * time.Second, "Sat, 31 Jan 2026 11:00:00 GMT": 0,
		"2026-01-31T12:00:05Z": 5 * time.Second, "2026-01-31T13:00:05.25+01:00": 6 * time.Second, "2026-01-31T12:00:05": 5 * time.Second,
	} {
		if got, ok := wire.ReadRetryAfter(http.Header{"Retry-After": {text}}, now); got != want || !ok {
			t.Errorf("%q: %s, %t; want %s", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "-1", "+1", "1.", ".5", "1.5.5", "1,5", "1e3", "1s", "2026-01-31", "2026-01-32T12:00:05Z", "9999999999999999", "tomorrow"} {
		if got, ok := wire.ReadRetryAfter(http.Header{"Retry-After": {text}}, now); ok {
			t.Errorf("%q is read as %s", text, got)
		}
	}
	// A date refers to the clock of the server that sent it.
	h := http.Header{"Retry-After": {"Sat, 31 Jan 2026 12:00:05 GMT"}, "Date": {"Sat, 31 Jan 2026 12:00:03 GMT"}}
	if got, _ := wire.ReadRetryAfter(h, now); got != 2*time.Second {
		t.Errorf("2 s after the header Date: %s", got)
	}
}

func TestOutcome(t *testing.T) {
	h := http.Header{"Retry-After": {"7"}}
	for status, want := range map[int]struct {
		failed     bool
		retryAfter time.Duration
	}{200: {}, 403: {true, 7 * time.Second}, 404: {}, 429: {true, 7 * time.Second}, 500: {failed: true}, 503: {true, 7 * time.Second}, 504: {failed: true}} {
		if failed, retryAfter := httplimit.Outcome(status, h); failed != want.failed || retryAfter != want.retryAfter {
			t.Errorf("%d: %t, %s; want %+v", status, failed, retryAfter, want)
		}
	}
	if failed, retryAfter := httplimit.Outcome(403, nil); failed || retryAfter != 0 {
		t.Errorf("403 without a header: %t, %s", failed, retryAfter)
	}
	if failed, retryAfter := httplimit.Outcome(503, nil); !failed || retryAfter != 0 {
		t.Errorf("503 without a header: %t, %s", failed, retryAfter)
	}
}
