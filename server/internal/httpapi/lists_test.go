package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/httpapi"
	"github.com/headgate/headgate/server/internal/service"
)

// listed is an answer to a request with several charges.
type listed struct {
	Allowed     bool
	Policy      string
	Charges     []int
	Limits      []struct{ Remaining int64 }
	Reservation string
	Settled     bool
	Dropped     int64
	Held        bool
	Detail      string
}

// TestReserveCharges checks that several charges, including a permit, are reserved and renewed together, and can be
// settled only once, with the actual units of each.
func TestReserveCharges(t *testing.T) {
	config, err := policy.Parse("p.yaml", []byte(`
policies:
  requests: {algorithm: fixed-window, limit: 20, window: 1d, align: UTC}
  tokens: {algorithm: token-bucket, rate: 10/1d, burst: 10000}
  calls: {algorithm: concurrency, limit: 1, lease: 60s}
`))
	if err != nil {
		t.Fatal(err)
	}
	limiter := core.New(core.Config{})
	defer limiter.Close()
	f := front{httpapi.New(service.New(service.Config{Limiter: limiter, Policies: config.Policies}))}
	ask := func(path, body string, status int) (a listed) {
		t.Helper()
		w := f.post(path, body)
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != status {
			t.Fatalf("%s %s: %d %s", path, body, w.Code, w.Body)
		}
		return a
	}
	const call = `{"charges":[{"policy":"requests","key":"ann"},{"policy":"tokens","key":"ann","cost":4000},{"policy":"calls","key":"org"}]}`
	r := ask("/v1/reserve", call, http.StatusOK)
	if !r.Allowed || r.Reservation == "" || len(r.Limits) != 3 {
		t.Fatalf("%+v", r)
	}
	if denied := ask("/v1/reserve", call, http.StatusTooManyRequests); denied.Policy != "calls" || denied.Charges[0] != 2 || denied.Reservation != "" {
		t.Errorf("%+v", denied)
	}
	if !ask("/v1/renew", `{"reservation":"`+r.Reservation+`"}`, http.StatusOK).Held {
		t.Error("not held")
	}
	settle := `{"reservation":"` + r.Reservation + `","actual":`
	for body, want := range map[string]string{
		settle + `[1,2]}`:      "actual is 2 numbers; accepted: one number, or one for each of the 3 charges that were reserved",
		settle + `[1,-2,0]}`:   "actual is -2; accepted: a whole number, 0 or more",
		settle + `[]}`:         "actual has 0 numbers; accepted: one for each charge, 1 to 32",
		settle + `[1,"2",0]}`:  "actual",
		settle + `1.5}`:        "actual",
		settle + `{"a":1}}`:    "actual",
		settle + `[1,2.5,0]}`:  "actual",
		`{"reservation":"AA"}`: "actual is not set",
	} {
		if a := ask("/v1/commit", body, http.StatusBadRequest); !strings.Contains(a.Detail, want) {
			t.Errorf("%s: %s, want %s", body, a.Detail, want)
		}
	}
	if a := ask("/v1/commit", settle+`[1,25000,0]}`, http.StatusOK); !a.Settled || a.Dropped != 5000 {
		t.Errorf("%+v; 20000 of 25000 tokens can be charged", a)
	}
	if a := ask("/v1/commit", settle+`[0,0,0]}`, http.StatusOK); a.Settled {
		t.Error("settled twice")
	}
	if ask("/v1/renew", `{"reservation":"`+r.Reservation+`"}`, http.StatusGone).Held {
		t.Error("held after the settlement")
	}
	if denied := ask("/v1/reserve", call, http.StatusTooManyRequests); denied.Policy != "tokens" || denied.Limits[0].Remaining != 19 || denied.Limits[2].Remaining != 1 {
		t.Errorf("%+v", denied)
	}
	if a := ask("/v1/allow", call, http.StatusUnprocessableEntity); !strings.HasPrefix(a.Detail, "charges.2: limit is concurrency") {
		t.Errorf("%+v", a)
	}
	if a := ask("/v1/renew", `{"reservation":"","key":"k"}`, http.StatusBadRequest); a.Detail == "" {
		t.Errorf("%+v", a)
	}
}
