package adminapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/internal/adminapi"
)

// serve starts a server for one endpoint and returns a client for it. The server runs until the test ends.
func serve(t *testing.T, e adminapi.Endpoint) *adminapi.Client {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc(e.Pattern, func(w http.ResponseWriter, r *http.Request) {
		v, err := e.Answer(w, r)
		if bad, ok := errors.AsType[*adminapi.Error](err); ok {
			w.WriteHeader(bad.Status)
			v = bad
		}
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return &adminapi.Client{URL: s.URL, Token: "secret", HTTP: s.Client()}
}

// TestClientGetsTheAnswer checks that the token, a body and a policy's name in the path reach the server, and that the
// client returns the server's answer or error.
func TestClientGetsTheAnswer(t *testing.T) {
	c := serve(t, adminapi.ExplainKey.By(func(r *http.Request, body *adminapi.KeyAndCost) (adminapi.Explanations, error) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			t.Error("without the token")
		}
		key, err := body.Read()
		return adminapi.Explanations{Explanations: []adminapi.Explanation{{Policy: body.Policy, KeyFields: adminapi.NewKey(key)}}}, err
	}))
	body := adminapi.KeyAndCost{KeyAndPolicy: adminapi.KeyAndPolicy{KeyFields: adminapi.NewKey("\xff"), Policy: "api"}}
	answer, text, err := adminapi.ExplainKey.Send(context.Background(), c, &body)
	if err != nil || len(answer.Explanations) != 1 || answer.Explanations[0].KeyFields != body.KeyFields || !strings.Contains(string(text), `"policy":"api"`) {
		t.Errorf("%+v %s %v", answer, text, err)
	}
	less := int64(-1)
	body.Cost = &less
	_, _, err = adminapi.ExplainKey.Send(context.Background(), c, &body)
	if bad, ok := errors.AsType[*adminapi.Error](err); !ok || bad.Status != http.StatusBadRequest || bad.Field != "cost" {
		t.Errorf("a negative cost: %v", err)
	}
	c = serve(t, adminapi.ShowPolicy.By(func(r *http.Request, _ *adminapi.None) (adminapi.PolicyView, error) {
		return adminapi.PolicyView{Name: r.PathValue("name")}, nil
	}))
	if v, _, err := adminapi.ShowPolicy.Of("a b/c").Send(context.Background(), c, nil); err != nil || v.Name != "a b/c" {
		t.Errorf("%+v %v", v, err)
	}
}

// TestBodiesAreRefused checks that bodies with another content type than JSON, with an unknown field, or above the
// maximum size are refused.
func TestBodiesAreRefused(t *testing.T) {
	e := adminapi.AcceptLoss.By(func(_ *http.Request, body *adminapi.Acceptance) (adminapi.AcceptedLoss, error) {
		return adminapi.AcceptedLoss{Lost: body.Author == "ann"}, nil
	})
	for _, c := range []struct {
		kind, body string
		status     int
	}{
		{"application/json; charset=utf-8", `{"author":"ann"}`, 0},
		{"text/plain", `{"author":"ann"}`, http.StatusUnsupportedMediaType},
		{"", `{"author":"ann"}`, http.StatusUnsupportedMediaType},
		{"application/json", `{"author":"ann","more":1}`, http.StatusBadRequest},
		{"application/json", `{"author":"` + strings.Repeat("x", 128<<10) + `"}`, http.StatusRequestEntityTooLarge},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.kind)
		v, err := e.Answer(httptest.NewRecorder(), r)
		bad, _ := errors.AsType[*adminapi.Error](err)
		if c.status == 0 && (err != nil || v != adminapi.AcceptedLoss{Lost: true}) || c.status != 0 && (bad == nil || bad.Status != c.status) {
			t.Errorf("%s %.30s: %v %v, want status %d", c.kind, c.body, v, err, c.status)
		}
	}
}

// TestStandingOfADeniedKey checks that times are rounded up, so that a retry is not too early. FreesAt and RetryAfter
// are nil if the request passes now or can never pass.
func TestStandingOfADeniedKey(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for wait, want := range map[time.Duration]string{
		0: "", engine.Never: "", time.Microsecond: "05.001", time.Millisecond: "05.001", 1001 * time.Microsecond: "05.002",
	} {
		var s adminapi.Standing
		s.Set(&engine.Standing{Limit: 3, RetryAfter: wait, ResetAfter: time.Microsecond}, at, engine.Exact)
		got := ""
		if s.FreesAt != nil {
			got = s.FreesAt.Format("05.000")
		}
		if got != want || (s.RetryAfter != nil) != (want != "") || s.Allowed != (wait == 0) || s.ResetAfter != 1 {
			t.Errorf("%v: %s and %+v, want %s", wait, got, s, want)
		}
	}
}

func TestServerReportsItsPlaceAmongTheServers(t *testing.T) {
	for want, s := range map[string]adminapi.Server{
		"server web-3/4711, 1 of 2": {Name: "web-3/4711", Of: 2},
		"server web-3/4711, 1 of ?": {Name: "web-3/4711"},
	} {
		if got := s.String(); got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
}
