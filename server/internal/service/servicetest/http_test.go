package servicetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/filelimit"
	"github.com/headgate/headgate/server/internal/httpapi"
	"github.com/headgate/headgate/server/internal/service"
)

// httpFront sends the requests of the suite over HTTP.
type httpFront struct{ handler http.Handler }

type httpAnswer struct {
	Allowed    bool   `json:"allowed"`
	Limit      *int64 `json:"limit"`
	Remaining  *int64 `json:"remaining"`
	RetryAfter *int64 `json:"retry_after_ms"`
	ResetAfter int64  `json:"reset_after_ms"`
	Delay      int64  `json:"delay_ms"`
	Reset      bool   `json:"reset"`
	Settled    bool   `json:"settled"`
	Open       bool   `json:"open"`
	Released   bool   `json:"released"`
	Held       bool   `json:"held"`

	Reservation string `json:"reservation"`
	ID          string `json:"id"`
	Lease       int64  `json:"lease_ms"`

	Policy  string `json:"policy"`
	Charges []int  `json:"charges"`
	Paid    string `json:"paid"`
	Limits  []httpAnswer
}

// limits describes each limit in the answer to a request with several charges. If there is only one limit, the answer
// has no list of limits, and its own fields describe that limit.
func (a *httpAnswer) limits() string {
	if a.Charges == nil {
		return ""
	}
	limits, binding := a.Limits, 0
	if limits == nil {
		limits = []httpAnswer{*a}
	}
	texts := make([]string, len(limits))
	for i := range limits {
		l := &limits[i]
		if l.Charges[0] == a.Charges[0] && l.Policy == a.Policy {
			binding = i
		}
		texts[i] = LimitText(l.Policy, l.Charges[0], *l.Remaining)
	}
	return LimitsText(binding, texts)
}

// pathOf returns the path of a request.
func pathOf(r Request) string {
	switch {
	case r.Reports:
		return "/v1/report"
	case r.Commits:
		return "/v1/commit"
	case r.Kind == engine.OpSettle:
		return "/v1/cancel"
	default:
		return "/v1/" + r.Kind.String()
	}
}

// Do implements [Front].
func (f httpFront) Do(t *testing.T, r Request) Answer {
	t.Helper()
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, pathOf(r), strings.NewReader(bodyOf(t, r))))
	switch w.Code {
	case http.StatusOK, http.StatusTooManyRequests, http.StatusGone:
	default:
		return Answer{Failed: true, Code: httpCode(t, w)}
	}
	var a httpAnswer
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	switch r.Kind {
	case engine.OpReset, engine.OpSettle, engine.OpRelease:
		return Answer{Found: a.Reset || a.Settled || a.Released || a.Open}
	case engine.OpRenew:
		if a.Held != (w.Code == http.StatusOK) {
			t.Errorf("status %d for held=%t", w.Code, a.Held)
		}
		return Answer{Allowed: a.Held}
	case engine.OpGive:
		if a.Remaining == nil {
			t.Fatalf("the answer to a give has no remaining: %s", w.Body)
		}
		return Answer{Remaining: *a.Remaining}
	}
	if a.Allowed != (w.Code == http.StatusOK) {
		t.Errorf("status %d for allowed=%t", w.Code, a.Allowed)
	}
	return a.coarse()
}

func (a *httpAnswer) coarse() Answer {
	seconds := func(ms int64) int64 { return (ms + 999) / 1000 }
	c := Answer{
		Allowed: a.Allowed, ResetSeconds: seconds(a.ResetAfter), DelayMillis: a.Delay,
		Handle: a.Reservation + a.ID, LeaseMillis: a.Lease, Limits: a.limits(), Paid: a.Paid,
	}
	if c.Unlimited = a.Limit == nil; !c.Unlimited {
		c.Limit, c.Remaining = *a.Limit, *a.Remaining
	}
	switch {
	case a.Allowed:
	case a.RetryAfter == nil:
		c.Never = true
	default:
		c.RetrySeconds = seconds(*a.RetryAfter)
	}
	return c
}

func bodyOf(t *testing.T, r Request) string {
	t.Helper()
	body := map[string]any{"key": r.Key}
	if r.Class != "" {
		body["class"] = r.Class
	}
	switch {
	case r.Kind == engine.OpSettle:
		return httpSettlement(t, r)
	case r.Charges != nil:
		delete(body, "key")
		body["charges"] = httpCharges(r.Charges)
		return encoded(t, body)
	case r.Policy != "":
		body["policy"] = r.Policy
	default:
		body["limit"] = map[string]any{
			"algorithm": "token-bucket", "burst": r.Throttle[0],
			"rate": fmt.Sprintf("%d/%s", r.Throttle[1], time.Duration(r.Throttle[2])*time.Second),
		}
	}
	if r.Cost >= 0 {
		body["cost"] = r.Cost
	}
	if r.Kind == engine.OpReserve && r.MaxDelay >= 0 {
		body["max_delay_ms"] = r.MaxDelay
	}
	if r.Kind == engine.OpRenew || r.Kind == engine.OpRelease {
		body["id"] = r.Handle
	}
	return encoded(t, body)
}

func httpCharges(of []Charge) (all []map[string]any) {
	for _, c := range of {
		one := map[string]any{"policy": c.Policy, "key": c.Key}
		if c.Cost >= 0 {
			one["cost"] = c.Cost
		}
		all = append(all, one)
	}
	return all
}

func httpSettlement(t *testing.T, r Request) string {
	t.Helper()
	body := map[string]any{"reservation": r.Handle}
	switch {
	case r.Used != nil:
		body["actual"] = r.Used
	case r.Commits:
		body["actual"] = r.Cost
	}
	return encoded(t, body)
}

func httpCode(t *testing.T, w *httptest.ResponseRecorder) service.Code {
	t.Helper()
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type of an error is %q", got)
	}
	code, ok := map[int]service.Code{
		400: service.Invalid, 403: service.Forbidden, 404: service.NotFound, 422: service.WrongVerb, 503: service.Unavailable,
	}[w.Code]
	if !ok {
		t.Errorf("unexpected status %d: %s", w.Code, w.Body)
	}
	return code
}

// TestAuthorizeAnswersTheSuite checks that a proxy's requests are decided by routes like all others.
func TestAuthorizeAnswersTheSuite(t *testing.T) {
	RunRoutes(t, func(_ *testing.T, s *service.Service, _ *filelimit.Limiter) Ask {
		handler := httpapi.New(s)
		return func(_ *testing.T, r *http.Request) (int, http.Header) {
			r.Header.Set("X-Forwarded-Uri", r.URL.RequestURI())
			r.URL = &url.URL{Path: "/v1/authorize"}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			return w.Code, w.Header()
		}
	})
}

func TestHTTPAnswersAsTheServiceDoes(t *testing.T) {
	Run(t, func(_ *testing.T, s *service.Service) Front { return httpFront{httpapi.New(s)} })
}

func encoded(t *testing.T, body any) string {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
