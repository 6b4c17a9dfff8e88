package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/httpapi"
	"github.com/headgate/headgate/server/internal/requestid"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/storetest"
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

func open(t *testing.T, clock *headgatetest.Clock) (front, *service.Service, *core.Limiter) {
	t.Helper()
	config, err := policy.Parse("test.yaml", []byte(policies))
	if err != nil {
		t.Fatal(err)
	}
	store, err := memstore.New(memstore.Config{Clock: clock.Now, MaxKeys: 16})
	if err != nil {
		t.Fatal(err)
	}
	limiter := core.New(core.Config{Store: storetest.Away(store, "unanswered")})
	s := service.New(service.Config{Limiter: limiter, Policies: config.Policies, AllowWrites: true})
	return front{httpapi.New(s)}, s, limiter
}

func TestBatchDecidesEachRequest(t *testing.T) {
	f, _, _ := open(t, headgatetest.NewClock())
	w := f.post("/v1/allow", `{"requests":[{"policy":"old","key":"k"},{"policy":"old","key":"k"},{"policy":"x","key":"k"},{"nope":1},
		{"key":"k","limit":{"all":["5/s",{"algorithm":"fixed-window","limit":3,"window":"1m"}]}}]}`)
	const want = `{"decisions":[` +
		`{"allowed":true,"policy":"old","limit":1,"remaining":0,"reset_after_ms":90000,"delay_ms":0,"mode":"exact","overshoot_max":0},` +
		`{"allowed":false,"policy":"old","limit":1,"remaining":0,"retry_after_ms":90000,"reset_after_ms":90000,"delay_ms":0,"mode":"exact","overshoot_max":0},` +
		`{"error":{"type":"about:blank","title":"Not Found","status":404,"detail":"no policy \"x\"","field":"policy","code":"not_found"}},` +
		`{"error":{"type":"about:blank","title":"Bad Request","status":400,"detail":"unknown field \"nope\"; accepted: policy, limit, key, cost, class, charges, atomic, outcomes","field":"nope","code":"invalid"}},` +
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

// TestFailureModeAnswersForTheStore checks that if the store does not answer, the policy's failure mode determines
// the answer, and that a new key that finds no room is a denial in each of them (regression: bug 107).
func TestFailureModeAnswersForTheStore(t *testing.T) {
	f, _, limiter := open(t, headgatetest.NewClock())
	for i := range 16 {
		if w := f.post("/v1/allow", `{"policy":"daily","key":"`+string(rune('a'+i))+`"}`); w.Code != http.StatusOK {
			t.Fatalf("filling the store: %d %s", w.Code, w.Body)
		}
	}
	for _, name := range []string{"daily", "allow"} {
		if w := f.post("/v1/allow", `{"policy":"`+name+`","key":"new"}`); w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), `"code":"full"`) {
			t.Errorf("no room: %d %s, want 429", w.Code, w.Body)
		}
	}
	if w := f.post("/v1/allow", `{"policy":"daily","key":"unanswered"}`); w.Code != http.StatusServiceUnavailable {
		t.Errorf("deny: %d %s, want 503", w.Code, w.Body)
	}
	w := f.post("/v1/allow", `{"policy":"allow","key":"unanswered"}`)
	const want = `{"allowed":true,"policy":"allow","reset_after_ms":0,"delay_ms":0,"mode":"fallback","overshoot_max":null}` + "\n"
	if w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("allow: %d %s, want %s", w.Code, w.Body, want)
	}
	if err := limiter.Close(); err != nil {
		t.Fatal(err)
	}
	if w := f.post("/v1/allow", `{"policy":"allow","key":"new"}`); w.Code != http.StatusServiceUnavailable {
		t.Errorf("closed: %d %s, want 503", w.Code, w.Body)
	}
}

func TestPathsAndMethods(t *testing.T) {
	f, s, _ := open(t, headgatetest.NewClock())
	get := func(method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		f.handler.ServeHTTP(w, httptest.NewRequest(method, "http://localhost"+path, nil))
		return w
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/v1/policies": 200, "/nope": 404, "/v1/allow": 405} {
		if w := get(http.MethodGet, path); w.Code != want {
			t.Errorf("GET %s: %d, want %d", path, w.Code, want)
		}
	}
	if w := get(http.MethodPost, "/readyz"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != http.MethodGet {
		t.Errorf("POST /readyz: %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
	body := get(http.MethodGet, "/v1/policies").Body.String()
	for _, want := range []string{
		`{"name":"two","limits":["100/1m burst 50","fixed-window 1000/1d align UTC"],"cost":1,"failure":"local","mode":"exact","headers":"draft","shadow":false,"enabled":true}`,
		`{"name":"hot","limits":["10/s"],"cost":1,"failure":"local","mode":"leased","headers":"draft","shadow":false,"enabled":true}`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("policies: %s, want %s", body, want)
		}
	}
	s.Drain()
	wantNotReady(t, get(http.MethodGet, "/readyz"), "not ready: the server is draining: it stops soon")
	if w := f.post("/v1/allow", `{"policy":"free","key":"k"}`); w.Code != http.StatusOK {
		t.Errorf("take while draining: %d, want 200: requests are still answered", w.Code)
	}
}

func wantNotReady(t *testing.T, w *httptest.ResponseRecorder, detail string) {
	t.Helper()
	id := w.Header().Get(requestid.Header)
	want := `{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"` + detail + `","code":"unavailable","request_id":"` + id + `"}` + "\n"
	if w.Code != http.StatusServiceUnavailable || w.Body.String() != want || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("readyz: %d %s %s, want 503 %s", w.Code, w.Header().Get("Content-Type"), w.Body, want)
	}
}

// TestNotReadyWithoutStore checks that a server whose store is closed is not ready, and gives the reason.
func TestNotReadyWithoutStore(t *testing.T) {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	limiter := core.New(core.Config{Store: store})
	f := front{httpapi.New(service.New(service.Config{Limiter: limiter, CheckStore: true}))}
	get := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		f.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		return w
	}
	if w := get(); w.Code != http.StatusOK || w.Body.String() != `{"status":"ready","generation":0}`+"\n" {
		t.Errorf("readyz: %d %s, want 200", w.Code, w.Body)
	}
	if err := limiter.Close(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // longer than a check's result is reused
	wantNotReady(t, get(), "not ready: closed")
}

// TestRetryAfterIsEnough checks that a retry after exactly Retry-After passes (regression: bug 37).
func TestRetryAfterIsEnough(t *testing.T) {
	clock := headgatetest.NewClock()
	f, _, _ := open(t, clock)
	f.post("/v1/allow", `{"policy":"odd","key":"k"}`)
	w := f.post("/v1/allow", `{"policy":"odd","key":"k"}`)
	if got := w.Header().Get("Retry-After"); w.Code != http.StatusTooManyRequests || got != "2" {
		t.Fatalf("%d, Retry-After %q, want 429 and 2", w.Code, got)
	}
	clock.Advance(2 * time.Second)
	if w := f.post("/v1/allow", `{"policy":"odd","key":"k"}`); w.Code != http.StatusOK {
		t.Errorf("after Retry-After: %d %s", w.Code, w.Body)
	}
}
