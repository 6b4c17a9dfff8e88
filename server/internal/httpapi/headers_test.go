package httpapi_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/headgatetest"
)

// header returns the limit headers of a response, one per line.
func header(w *httptest.ResponseRecorder) string {
	var b strings.Builder
	for _, name := range []string{
		"RateLimit-Policy", "RateLimit", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
		"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After", "Cache-Control",
	} {
		for _, value := range w.Header().Values(name) {
			b.WriteString(name + ": " + value + "\n")
		}
	}
	return b.String()
}

func TestHeadersFollowThePolicy(t *testing.T) {
	f, _, _ := open(t, headgatetest.NewClock())
	for _, s := range []struct{ body, want string }{
		{`{"policy":"burst","key":"k"}`, "RateLimit-Policy: \"burst\";q=100;w=60\nRateLimit: \"burst\";r=49;t=1\n"},
		{
			`{"policy":"two","key":"k","cost":40}`,
			"RateLimit-Policy: \"burst\";q=100;w=60, \"daily\";q=1000;w=86400\nRateLimit: \"burst\";r=9;t=25, \"daily\";r=960;t=86400\n",
		},
		{
			`{"policy":"burst","key":"k","cost":10}`,
			"RateLimit-Policy: \"burst\";q=100;w=60\nRateLimit: \"burst\";r=9;t=1\nRetry-After: 1\nCache-Control: no-store\n",
		},
		{`{"policy":"old","key":"k"}`, "RateLimit-Limit: 1\nRateLimit-Remaining: 0\nRateLimit-Reset: 90\n"},
		{`{"policy":"older","key":"k"}`, "X-RateLimit-Limit: 1\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 90\n"},
		// The limit is the capacity, so remaining never exceeds it.
		{`{"policy":"bucket3","key":"k","cost":3}`, "RateLimit-Limit: 20\nRateLimit-Remaining: 17\nRateLimit-Reset: 1\n"},
		{`{"policy":"bucketx","key":"k","cost":3}`, "X-RateLimit-Limit: 20\nX-RateLimit-Remaining: 17\nX-RateLimit-Reset: 1\n"},
		{`{"policy":"silent","key":"k"}`, ""},
		{`{"policy":"silent","key":"k"}`, "Retry-After: 90\nCache-Control: no-store\n"},
		{`{"policy":"never","key":"k"}`, "RateLimit-Policy: \"never\";q=0\nRateLimit: \"never\";r=0;t=0\nCache-Control: no-store\n"},
		{`{"policy":"free","key":"k"}`, ""},
		{`{"policy":"odd","key":"k"}`, "RateLimit-Policy: \"odd\";q=1\nRateLimit: \"odd\";r=0;t=2\n"},
		{
			`{"key":"k","limit":"5/1m name \"a \\\"b\\\" é\""}`,
			"RateLimit-Policy: \"a \\\"b\\\" ??\";q=5;w=60\nRateLimit: \"a \\\"b\\\" ??\";r=4;t=12\n",
		},
	} {
		if got := header(f.post("/v1/allow", s.body)); got != s.want {
			t.Errorf("%s:\n got %s\nwant %s", s.body, got, s.want)
		}
	}
}

// TestHeadersDescribeTheBindingWindow checks that q, w, r and t all describe the binding window, for one limit and for
// several.
func TestHeadersDescribeTheBindingWindow(t *testing.T) {
	clock := headgatetest.NewClock()
	f, _, _ := open(t, clock)
	for i, s := range []struct {
		after      time.Duration
		body, want string
	}{
		{0, `{"policy":"log","key":"k"}`, "RateLimit-Policy: \"log\";q=2;w=1\nRateLimit: \"log\";r=1;t=1\n"},
		{0, `{"policy":"log","key":"k"}`, "RateLimit-Policy: \"log\";q=2;w=1\nRateLimit: \"log\";r=0;t=1\n"},
		{0, `{"policy":"log","key":"k"}`, "RateLimit-Policy: \"log\";q=2;w=1\nRateLimit: \"log\";r=0;t=1\nRetry-After: 1\nCache-Control: no-store\n"},
		{0, `{"policy":"log","key":"k","cost":3}`, "RateLimit-Policy: \"log\";q=2;w=1\nRateLimit: \"log\";r=0;t=1\nCache-Control: no-store\n"},
		{time.Second, `{"policy":"log","key":"k","cost":2}`, "RateLimit-Policy: \"log\";q=2;w=1\nRateLimit: \"log\";r=0;t=1\n"},
		{time.Second, `{"policy":"log","key":"k"}`, "RateLimit-Policy: \"log\";q=5;w=60\nRateLimit: \"log\";r=0;t=60\n"},
		{time.Second, `{"policy":"log","key":"k"}`, "RateLimit-Policy: \"log\";q=5;w=60\nRateLimit: \"log\";r=0;t=57\nRetry-After: 57\nCache-Control: no-store\n"},
		{
			0, `{"policy":"mixed","key":"k","cost":2}`,
			"RateLimit-Policy: \"mixed.log\";q=2;w=1, \"mixed.hour\";q=5;w=3600\nRateLimit: \"mixed.log\";r=0;t=1, \"mixed.hour\";r=3;t=3600\n",
		},
		{
			time.Second, `{"policy":"mixed","key":"k","cost":2}`,
			"RateLimit-Policy: \"mixed.log\";q=2;w=1, \"mixed.hour\";q=5;w=3600\nRateLimit: \"mixed.log\";r=0;t=1, \"mixed.hour\";r=1;t=3599\n",
		},
		{
			time.Second, `{"policy":"mixed","key":"k"}`,
			"RateLimit-Policy: \"mixed.hour\";q=5;w=3600, \"mixed.log\";q=5;w=60\nRateLimit: \"mixed.hour\";r=0;t=3598, \"mixed.log\";r=0;t=60\n",
		},
	} {
		clock.Advance(s.after)
		if got := header(f.post("/v1/allow", s.body)); got != s.want {
			t.Errorf("step %d: %s:\n got %s\nwant %s", i, s.body, got, s.want)
		}
	}
}
