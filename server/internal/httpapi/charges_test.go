package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/httpapi"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/users"
)

// TestCharges checks that a request with several keys is charged to all of them or to none, and that each limit names
// its charges.
func TestCharges(t *testing.T) {
	config, err := policy.Parse("p.yaml", []byte(`
policies:
  per-ip: {algorithm: fixed-window, limit: 3, window: 1h}
  plan:   {algorithm: fixed-window, limit: 20, window: 1h, cost: 5}
overrides: [{policy: plan, key: small, set: {limit: 6}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	store, err := memstore.New(memstore.Config{Clock: headgatetest.NewClock().Now})
	if err != nil {
		t.Fatal(err)
	}
	limiter := core.New(core.Config{Store: store})
	defer limiter.Close()
	h := httpapi.New(service.New(service.Config{Limiter: limiter, Policies: config.Policies}))
	const both = `{"policy":"per-ip","key":"%s"},{"policy":"plan","key":"%s"}`
	for i, c := range []struct {
		path, charges string
		status        int
		want          string
	}{
		{"allow", fmt.Sprintf(both, "a", "acme"), 200, "per-ip [0] 2: per-ip [0] 2, plan [1] 15"},
		{"peek", fmt.Sprintf(both, "a", "acme"), 200, "per-ip [0] 2: per-ip [0] 2, plan [1] 15"},
		{"allow", fmt.Sprintf(both, "a", "small"), 200, "per-ip [0] 1: per-ip [0] 1, plan [1] 1"},
		{"allow", fmt.Sprintf(both, "a", "small"), 429, "plan [1] 1: per-ip [0] 1, plan [1] 1"},
		{"allow", fmt.Sprintf(both, "b", "acme") + `,{"policy":"plan","key":"acme","cost":4}`, 200, "per-ip [0] 2: per-ip [0] 2, plan [1 2] 6"},
		{"allow", `{"policy":"plan","key":"one","cost":1},{"policy":"plan","key":"one","cost":2}`, 200, "plan [0 1] 17:"},
		{"allow", fmt.Sprintf(both, "c", "acme") + `,{"limit":{"algorithm":"fixed-window","limit":1,"window":"1h"},"key":"x"}`, 200, " [2] 0: per-ip [0] 2, plan [1] 1,  [2] 0"},
		{"allow", `{"limit":{"algorithm":"fixed-window","limit":1,"window":"1h"},"key":"x"}`, 429, " [0] 0:"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/"+c.path, strings.NewReader(`{"charges":[`+c.charges+`]}`)))
		if got := bindingAndLimits(t, w.Body.Bytes()); w.Code != c.status || got != c.want {
			t.Errorf("%d: %d %s, want %d %s", i, w.Code, got, c.status, c.want)
		}
		if limits := strings.Count(w.Header().Get("Ratelimit"), "r="); limits != max(1, strings.Count(c.want, ",")+1) {
			t.Errorf("%d: RateLimit %s", i, w.Header().Get("Ratelimit"))
		}
	}
}

// bindingAndLimits returns the policy, the charges and the remaining units of the binding limit, and of all limits.
func bindingAndLimits(t *testing.T, body []byte) string {
	t.Helper()
	type limit struct {
		Policy    string
		Charges   []int
		Remaining int64
	}
	var answer struct {
		limit

		Limits []limit
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatal(err, string(body))
	}
	text := func(l limit) string { return fmt.Sprint(l.Policy, " ", l.Charges, " ", l.Remaining) }
	all := make([]string, len(answer.Limits))
	for i, l := range answer.Limits {
		all[i] = text(l)
	}
	return strings.TrimSuffix(text(answer.limit)+": "+strings.Join(all, ", "), " ")
}

// TestRightsToCharges checks that a user needs the right to each policy of a request.
func TestRightsToCharges(t *testing.T) {
	h, f := guarded(t, service.Config{Users: true})
	for _, c := range []struct {
		user, charges string
		want          int
	}{
		{"ops", `{"policy":"api","key":"k"},{"policy":"other","key":"k"}`, 200},
		{"caller", `{"policy":"api","key":"k"}`, 200},
		{"caller", `{"policy":"api","key":"k"},{"policy":"other","key":"k"}`, 403},
	} {
		for _, body := range []string{`{"charges":[` + c.charges + `]}`, `{"requests":[{"charges":[` + c.charges + `]}]}`} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(users.With(t.Context(), f.Of(c.user)), http.MethodPost, "/v1/allow", strings.NewReader(body)))
			batch := strings.HasPrefix(body, `{"requests`)
			if !batch && w.Code != c.want || batch && strings.Contains(w.Body.String(), `"status":403`) != (c.want == 403) {
				t.Errorf("%s sends %s: %d %s, want %d", c.user, body, w.Code, w.Body, c.want)
			}
		}
	}
}
