package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/httpapi"
	"github.com/headgate/headgate/server/service"
	"github.com/headgate/headgate/server/service/servicetest"
)

// front sends the requests of package servicetest over HTTP.
type front struct{ handler http.Handler }

func (f front) post(path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w
}

type answer struct {
	Allowed    bool   `json:"allowed"`
	Limit      *int64 `json:"limit"`
	Remaining  *int64 `json:"remaining"`
	RetryAfter *int64 `json:"retry_after_ms"`
	ResetAfter int64  `json:"reset_after_ms"`
	Delay      int64  `json:"delay_ms"`
	Reset      bool   `json:"reset"`
}

// Do makes front a servicetest.Front.
func (f front) Do(t *testing.T, r servicetest.Request) servicetest.Answer {
	t.Helper()
	w := f.post("/v1/"+servicetest.Verb(r.Kind), bodyOf(t, r))
	switch w.Code {
	case http.StatusOK, http.StatusTooManyRequests:
	default:
		return servicetest.Answer{Failed: true, Code: codeOf(t, w)}
	}
	var a answer
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	switch r.Kind {
	case engine.OpReset:
		return servicetest.Answer{Found: a.Reset}
	case engine.OpGive:
		if a.Remaining == nil {
			t.Fatalf("the answer to a give has no remaining: %s", w.Body)
		}
		return servicetest.Answer{Remaining: *a.Remaining}
	}
	if a.Allowed != (w.Code == http.StatusOK) {
		t.Errorf("status %d for allowed=%t", w.Code, a.Allowed)
	}
	return a.coarse()
}

func (a *answer) coarse() servicetest.Answer {
	seconds := func(ms int64) int64 { return (ms + 999) / 1000 }
	c := servicetest.Answer{Allowed: a.Allowed, ResetSeconds: seconds(a.ResetAfter), DelayMillis: a.Delay}
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

func bodyOf(t *testing.T, r servicetest.Request) string {
	t.Helper()
	body := map[string]any{"key": r.Key}
	if r.Policy != "" {
		body["policy"] = r.Policy
	} else {
		body["limit"] = map[string]any{
			"algorithm": "token-bucket", "burst": r.Throttle[0],
			"rate": fmt.Sprintf("%d/%s", r.Throttle[1], time.Duration(r.Throttle[2])*time.Second),
		}
	}
	if r.Cost >= 0 {
		body["cost"] = r.Cost
	}
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func codeOf(t *testing.T, w *httptest.ResponseRecorder) service.Code {
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

func TestHTTPAnswersAsTheServiceDoes(t *testing.T) {
	servicetest.Run(t, func(_ *testing.T, s *service.Service) servicetest.Front { return front{httpapi.New(s)} })
}
