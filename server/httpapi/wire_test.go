package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/server/httpapi"
	"github.com/headgate/headgate/server/policy"
	"github.com/headgate/headgate/server/service"
)

const policies = `
policies:
  burst:  {algorithm: token-bucket, rate: 100/60s, burst: 50}
  daily:  {algorithm: fixed-window, limit: 1000, window: 1d, align: UTC}
  two:    {all: [burst, daily]}
  old:    {algorithm: fixed-window, limit: 1, window: 90s, headers: draft-03}
  older:  {algorithm: fixed-window, limit: 1, window: 90s, headers: x-ratelimit}
  silent: {algorithm: fixed-window, limit: 1, window: 90s, headers: "off"}
  never:  {deny: true}
  free:   {unlimited: true}
  odd:    {algorithm: fixed-window, limit: 1, window: 1500ms}
  bucket3: {algorithm: token-bucket, rate: 10/s, burst: 20, headers: draft-03}
  bucketx: {algorithm: token-bucket, rate: 10/s, burst: 20, headers: x-ratelimit}
  log:    {algorithm: sliding-log, windows: [{limit: 2, window: 1s}, {limit: 5, window: 1m}]}
  mixed:  {all: [{name: hour, algorithm: fixed-window, limit: 5, window: 1h}, {name: log, algorithm: sliding-log, windows: [{limit: 2, window: 1s}, {limit: 5, window: 1m}]}]}
  hot:    {algorithm: token-bucket, rate: 10/s, mode: leased}
  allow:  {algorithm: fixed-window, limit: 1, window: 1h, failure: allow}
`

func open(t *testing.T, clock *headgatetest.Clock) (front, *service.Service, *headgate.Limiter) {
	t.Helper()
	config, err := policy.Parse("test.yaml", []byte(policies))
	if err != nil {
		t.Fatal(err)
	}
	store, err := memstore.New(memstore.Config{Clock: clock.Now, MaxKeys: 16})
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New(store)
	s := service.New(service.Config{Limiter: limiter, Policies: config.Policies, AllowWrites: true})
	return front{httpapi.New(s)}, s, limiter
}

// header returns the fields of a response that speak of limits, as the client
// reads them.
func header(w *httptest.ResponseRecorder) string {
	var b strings.Builder
	for _, name := range []string{
		"RateLimit-Policy", "RateLimit", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
		"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After", "Cache-Control",
	} {
		for _, value := range w.Header()[name] {
			b.WriteString(name + ": " + value + "\n")
		}
	}
	return b.String()
}

func TestHeaders(t *testing.T) {
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
		// The limit is the capacity: remaining is never more.
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
		if got := header(f.post("/v1/take", s.body)); got != s.want {
			t.Errorf("%s:\n got %s\nwant %s", s.body, got, s.want)
		}
	}
}

// TestHeadersOfSeveralWindows: q, w, r and t are of one window, the one that
// binds, whether the limit stands alone or beside others.
func TestHeadersOfSeveralWindows(t *testing.T) {
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
		if got := header(f.post("/v1/take", s.body)); got != s.want {
			t.Errorf("step %d: %s:\n got %s\nwant %s", i, s.body, got, s.want)
		}
	}
}

const noAcquire = "accepted: token-bucket (gcra, leaky-bucket, funnel), pacer, fixed-window, sliding-window, sliding-log; " +
	"or deny: true, unlimited: true, all: [...]; concurrency is not supported yet: acquire does not exist on the wires"

func TestProblems(t *testing.T) {
	f, _, _ := open(t, headgatetest.NewClock())
	for _, s := range []struct {
		body   string
		status int
		detail string
	}{
		{``, 400, "body is not JSON: it ends too early"},
		{`{"policy":"burst","key":"k"`, 400, "body is not JSON: it ends too early"},
		{`{"policy":"burst","key":"k"} {}`, 400, "body must be one JSON object with nothing after it"},
		{`[]`, 400, "body must not be a JSON array; accepted: object"},
		{`{"policy":"burst","key":"k","costs":1}`, 400, `unknown field "costs"`},
		{`{"policy":"burst","key":"k","cost":1.5}`, 400, "cost must not be a JSON number 1.5; accepted: whole number"},
		{`{"policy":"burst","key":"k","cost":"1"}`, 400, "cost must not be a JSON string; accepted: whole number"},
		{`{"policy":"burst","key":"k","cost":-1}`, 400, "cost is -1; accepted: a whole number, 0 or more"},
		{`{"policy":"burst","key":7}`, 400, "key must not be a JSON number; accepted: string"},
		{`{"policy":"burst"}`, 400, "key is not set; accepted: 1 to 1024 bytes"},
		{`{"policy":"burst","key":""}`, 400, `key is ""; accepted: 1 to 1024 bytes`},
		{`{"key":"k"}`, 400, "policy is not set; accepted: the name of a policy, or limit instead"},
		{`{"policy":"burst","key":"k","limit":"1/s"}`, 400, "limit beside policy; accepted: one of them"},
		{`{"policy":"missing","key":"k"}`, 404, `no policy "missing"`},
		{`{"policy":"burst","key":"k","limit":{"burst":"x"}}`, 400, "limit.burst must not be a JSON string; accepted: whole number"},
		{`{"key":"k","limit":{"all":["1/s",{"burst":"x"}]}}`, 400, "limit.all.1.burst must not be a JSON string; accepted: whole number"},
		{`{"key":"k","limit":{"windows":[{"limit":1},{"limit":"x"}]}}`, 400, "limit.windows.1.limit must not be a JSON string; accepted: whole number"},
		{`{"key":"k","limit":` + strings.Repeat(`{"all":[`, 4900) + strings.Repeat(" ", 900_000), 400, "body is not JSON: it ends too early"},
		{
			`{"key":"k","limit":` + strings.Repeat(`{"all":[`, 4900) + strings.Repeat(" ", 900_000) + strings.Repeat(`]}`, 4900) + `}`,
			400, "limit is nested too deeply; accepted: all only at the top, and windows inside it",
		},
		{`{"key":"k","limit":{"algorithm":"magic"}}`, 422, ""},
		{`{"key":"k","limit":{"algorithm":"token-bucket","rate":"0/s"}}`, 422, "limit.rate is 0; accepted: 1 to 4294967295"},
		{`{"key":"k","limit":{"algorithm":"token-bucket","rate":"1/s","burst":0}}`, 422, "limit.burst is 0; accepted: 1 to 4294967295"},
		{`{"key":"k","limit":{"algorithm":"token-bucket","rate":"1/s","max_wait":"1s"}}`, 422, "limit.max_wait is set; accepted: no such field on token-bucket"},
		{`{"key":"k","limit":{"algorithm":"fixed-window","limit":0,"window":"1m"}}`, 422, "limit.limit is 0; accepted: 1 to 4294967295"},
		{`{"key":"k","limit":{"algorithm":"fixed-window","limit":1,"window":"x"}}`, 422, `limit.window is "x"; accepted: a duration such as 1m, 1d, 1w`},
		{`{"key":"k","limit":{"algorithm":"pacer","rate":"1/s","max_wait":"x"}}`, 422, `limit.max_wait: duration is "x"; accepted: a whole duration with its unit, such as 100ms, 1m30s, 1d or 2w`},
		{
			`{"key":"k","limit":{"algorithm":"sliding-log","windows":[{"limit":1,"window":"1m"},{"limit":2,"window":"1us"}]}}`,
			422, "limit.windows.1.window is 1µs; accepted: 1ms to 36525d, in whole microseconds",
		},
		{
			`{"key":"k","limit":{"algorithm":"sliding-log","windows":[{"limit":200000,"window":"1m"}]}}`,
			422, "limit.windows.0.limit is 200000; accepted: 1 to 100000 on a sliding-log; beyond that use sliding-window strict",
		},
		{`{"key":"k","limit":{"all":["5/s",{"algorithm":"token-bucket","rate":"1/s","burst":0}]}}`, 422, "limit.all.1.burst is 0; accepted: 1 to 4294967295"},
		{
			`{"key":"k","limit":{"all":["5/s name \"a\"","6/s name \"a\""]}}`,
			422, "limit.all is token-bucket a twice; accepted: limits of one algorithm with different names",
		},
		{`{"key":"k","limit":"5"}`, 422, `limit: rate is "5"; accepted: a whole number per duration, such as "100/s" or "5/1m"`},
		{`{"key":"k","limit":{"all":["5/s","6"]}}`, 422, `limit.all.1: rate is "6"; accepted: a whole number per duration, such as "100/s" or "5/1m"`},
		{`{"key":"k","limit":{"algorithm":"concurrency","limit":5}}`, 422, `limit.algorithm is "concurrency"; ` + noAcquire},
		{`{"key":"k","limit":"concurrency 5"}`, 422, `limit: algorithm is "concurrency"; ` + noAcquire},
		{`{"key":"k","limit":{"all":["1/s",{"algorithm":"concurrency","limit":5}]}}`, 422, `limit.all.1.algorithm is "concurrency"; ` + noAcquire},
		{`{"requests":[]}`, 400, "requests: 1 to 1000 in one batch"},
		{`{"requests":[{}],"key":"k"}`, 400, "requests stands alone: policy, key, cost and limit belong inside it"},
		{`{"key":"` + strings.Repeat("k", 1<<20) + `"}`, 413, "body is larger than 1 MiB"},
	} {
		w := f.post("/v1/take", s.body)
		var p struct {
			Status int
			Detail string
		}
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		if w.Code != s.status || p.Status != s.status || s.detail != "" && p.Detail != s.detail {
			t.Errorf("%.60s: %d %q, want %d %q", s.body, w.Code, p.Detail, s.status, s.detail)
		}
	}
}

func TestBatch(t *testing.T) {
	f, _, _ := open(t, headgatetest.NewClock())
	w := f.post("/v1/take", `{"requests":[{"policy":"old","key":"k"},{"policy":"old","key":"k"},{"policy":"x","key":"k"},{"nope":1},
		{"key":"k","limit":{"all":["5/s",{"algorithm":"fixed-window","limit":3,"window":"1m"}]}}]}`)
	const want = `{"decisions":[` +
		`{"allowed":true,"policy":"old","limit":1,"remaining":0,"reset_after_ms":90000,"delay_ms":0,"mode":"exact","overshoot_max":0},` +
		`{"allowed":false,"policy":"old","limit":1,"remaining":0,"retry_after_ms":90000,"reset_after_ms":90000,"delay_ms":0,"mode":"exact","overshoot_max":0},` +
		`{"error":{"type":"about:blank","title":"Not Found","status":404,"detail":"no policy \"x\"","field":"policy"}},` +
		`{"error":{"type":"about:blank","title":"Bad Request","status":400,"detail":"unknown field \"nope\"","field":"nope"}},` +
		`{"allowed":true,"limit":3,"remaining":2,"reset_after_ms":60000,"delay_ms":0,"mode":"exact","overshoot_max":0,` +
		`"limits":[{"name":"1","limit":5,"remaining":4,"reset_after_ms":200},{"name":"2","limit":3,"remaining":2,"reset_after_ms":60000}]}]}` + "\n"
	if w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("%d\n got %s\nwant %s", w.Code, w.Body, want)
	}
	many := f.post("/v1/peek", `{"requests":[`+strings.Repeat(`{"policy":"old","key":"k"},`, 1000)+`{"policy":"old","key":"k"}]}`)
	if many.Code != http.StatusBadRequest {
		t.Errorf("1001 requests: status %d, want 400", many.Code)
	}
}

// TestStoreAway: a store that cannot take the key answers what the policy's
// failure mode says.
func TestStoreAway(t *testing.T) {
	f, _, limiter := open(t, headgatetest.NewClock())
	for i := range 16 {
		if w := f.post("/v1/take", `{"policy":"daily","key":"`+string(rune('a'+i))+`"}`); w.Code != http.StatusOK {
			t.Fatalf("filling the store: %d %s", w.Code, w.Body)
		}
	}
	if w := f.post("/v1/take", `{"policy":"daily","key":"new"}`); w.Code != http.StatusServiceUnavailable {
		t.Errorf("deny: %d %s, want 503", w.Code, w.Body)
	}
	w := f.post("/v1/take", `{"policy":"allow","key":"new"}`)
	const want = `{"allowed":true,"policy":"allow","reset_after_ms":0,"delay_ms":0,"mode":"fallback","overshoot_max":null}` + "\n"
	if w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("allow: %d %s, want %s", w.Code, w.Body, want)
	}
	if err := limiter.Close(); err != nil {
		t.Fatal(err)
	}
	if w := f.post("/v1/take", `{"policy":"allow","key":"new"}`); w.Code != http.StatusServiceUnavailable {
		t.Errorf("closed: %d %s, want 503", w.Code, w.Body)
	}
}

func TestPaths(t *testing.T) {
	f, s, _ := open(t, headgatetest.NewClock())
	get := func(method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		f.handler.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		return w
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/v1/policies": 200, "/nope": 404, "/v1/take": 405} {
		if w := get(http.MethodGet, path); w.Code != want {
			t.Errorf("GET %s: %d, want %d", path, w.Code, want)
		}
	}
	if w := get(http.MethodPost, "/readyz"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != http.MethodGet {
		t.Errorf("POST /readyz: %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
	body := get(http.MethodGet, "/v1/policies").Body.String()
	for _, want := range []string{
		`{"name":"two","limits":["100/1m burst 50","fixed-window 1000/1d align UTC"],"cost":1,"failure":"deny","mode":"exact","headers":"draft","shadow":false,"enabled":true}`,
		`{"name":"hot","limits":["10/s"],"cost":1,"failure":"deny","mode":"leased","headers":"draft","shadow":false,"enabled":true}`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("policies: %s, want %s", body, want)
		}
	}
	s.Drain()
	wantNotReady(t, get(http.MethodGet, "/readyz"), "not ready: the server is draining: it stops soon")
	if w := f.post("/v1/take", `{"policy":"free","key":"k"}`); w.Code != http.StatusOK {
		t.Errorf("take while draining: %d, want 200: requests are still answered", w.Code)
	}
}

func wantNotReady(t *testing.T, w *httptest.ResponseRecorder, detail string) {
	t.Helper()
	want := `{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"` + detail + `"}` + "\n"
	if w.Code != http.StatusServiceUnavailable || w.Body.String() != want || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("readyz: %d %s %s, want 503 %s", w.Code, w.Header().Get("Content-Type"), w.Body, want)
	}
}

// TestReadyNeedsStore: while the store is away the server is not ready, and says
// why.
func TestReadyNeedsStore(t *testing.T) {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New(store)
	f := front{httpapi.New(service.New(service.Config{Limiter: limiter, CheckStore: true}))}
	get := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		f.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		return w
	}
	if w := get(); w.Code != http.StatusOK || w.Body.String() != "{\"status\":\"ready\"}\n" {
		t.Errorf("readyz: %d %s, want 200", w.Code, w.Body)
	}
	if err := limiter.Close(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // longer than a check stands
	wantNotReady(t, get(), "not ready: closed")
}

// TestRetryAfter: a retry at exactly Retry-After passes (known bug 37).
func TestRetryAfter(t *testing.T) {
	clock := headgatetest.NewClock()
	f, _, _ := open(t, clock)
	f.post("/v1/take", `{"policy":"odd","key":"k"}`)
	w := f.post("/v1/take", `{"policy":"odd","key":"k"}`)
	if got := w.Header().Get("Retry-After"); w.Code != http.StatusTooManyRequests || got != "2" {
		t.Fatalf("%d, Retry-After %q, want 429 and 2", w.Code, got)
	}
	clock.Advance(2 * time.Second)
	if w := f.post("/v1/take", `{"policy":"odd","key":"k"}`); w.Code != http.StatusOK {
		t.Errorf("after Retry-After: %d %s", w.Code, w.Body)
	}
}
