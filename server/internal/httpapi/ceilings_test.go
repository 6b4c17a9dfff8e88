package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/httpapi"
	"github.com/headgate/headgate/server/internal/service"
)

// TestCeilings checks that the answer to a reserve with a ceiling states how many units open reservations can still
// charge, and that a commit above the ceiling returns an error and changes nothing.
func TestCeilings(t *testing.T) {
	config, err := policy.Parse("p.yaml", []byte(`
policies:
  tokens: {algorithm: fixed-window, limit: 100, window: 1d, settle_within: 10m, estimate_max: capacity}
  money:  {algorithm: fixed-window, limit: 9000, window: 1d}
`))
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New()
	defer limiter.Close()
	f := front{httpapi.New(service.New(service.Config{Limiter: limiter, Policies: config.Policies}))}
	for _, step := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"reserve", `{"policy":"tokens","key":"ann","cost":10,"ceiling":30}`, 200, `"pending":20`},
		{"reserve", `{"charges":[{"policy":"money","key":"org","cost":5,"ceiling":50},{"policy":"tokens","key":"ann","cost":10,"ceiling":15}]}`, 200, `"remaining":80,"reset_after_ms":`},
		{"reserve", `{"charges":[{"policy":"tokens","key":"bob","cost":1,"ceiling":2},{"policy":"tokens","key":"bob","cost":3,"ceiling":5}]}`, 200, `"pending":3`},
		{"reserve", `{"charges":[{"policy":"tokens","key":"cid","cost":1,"ceiling":2},{"policy":"tokens","key":"cid","cost":3}]}`, 200, `"remaining":96`},
		{"reserve", `{"policy":"tokens","key":"ann","cost":10}`, 200, `"remaining":70`},
		{"reserve", `{"policy":"tokens","key":"ann","cost":10,"ceiling":9}`, 400, "ceiling is 9; accepted: 10 or more, the cost"},
		{"reserve", `{"policy":"tokens","key":"dan","cost":400,"ceiling":399}`, 400, "ceiling is 399; accepted: 400 or more, the cost"},
		{"reserve", `{"policy":"money","key":"ann","cost":10,"ceiling":11}`, 400, "ceiling is 11; accepted: none where no policy has settle_within"},
		{"reserve", `{"limit":"5/s","key":"ann","ceiling":11}`, 400, "ceiling is 11; accepted: none where no policy has settle_within"},
		{"reserve", `{"charges":[{"policy":"money","key":"a"},{"policy":"money","key":"b","ceiling":1}]}`, 400, "charges.1: ceiling is 1; accepted: none where no policy has settle_within"},
		{"reserve", `{"policy":"tokens","key":"ann","ceiling":0}`, 400, "ceiling is 0; accepted: a whole number, 1 or more"},
		{"allow", `{"policy":"tokens","key":"ann","ceiling":5}`, 400, `unknown field \"ceiling\"; accepted: policy, limit, key, cost, class, charges, atomic, outcomes`},
		{"allow", `{"charges":[{"policy":"tokens","key":"ann","ceiling":5}]}`, 400, `charges.0: unknown field \"ceiling\"; accepted: policy, limit, key, cost`},
		{"allow", `{"policy":"tokens","key":"ann","atomic":true}`, 400, "atomic without charges; accepted: with charges"},
		{"allow", `{"charges":[{"policy":"money","key":"fay"},{"policy":"money","key":"gus"}],"atomic":true}`, 200, `"mode":"exact"`},
		{"peek", `{"policy":"tokens","key":"ann"}`, 200, `"remaining":70`},
	} {
		w := f.post("/v1/"+step.path, step.body)
		if w.Code != step.status || !strings.Contains(w.Body.String(), step.want) {
			t.Errorf("%s %s: %d %s, want %d %s", step.path, step.body, w.Code, w.Body, step.status, step.want)
		}
	}
	var held listed
	if err := json.Unmarshal(f.post("/v1/reserve", `{"charges":[{"policy":"tokens","key":"eve","cost":10,"ceiling":30},{"policy":"money","key":"eve","cost":5}]}`).Body.Bytes(), &held); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		verb, actual string
		status       int
		want         string
	}{
		{"report", "[31,5]", 400, "charges.0: actual is 31; accepted: 0 to 30, the ceiling of the reservation"},
		{"report", "[20,5]", 200, `"open":true`},
		{"commit", "[40,5]", 400, "charges.0: actual is 40; accepted: 0 to 30, the ceiling of the reservation"},
		{"commit", "[30,8000]", 200, `"settled":true`},
	} {
		w := f.post("/v1/"+step.verb, fmt.Sprintf(`{"reservation":%q,"actual":%s}`, held.Reservation, step.actual))
		if w.Code != step.status || !strings.Contains(w.Body.String(), step.want) {
			t.Errorf("%s %s: %d %s, want %d %s", step.verb, step.actual, w.Code, w.Body, step.status, step.want)
		}
	}
	if w := f.post("/v1/peek", `{"policy":"tokens","key":"eve"}`); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"remaining":70`) {
		t.Errorf("%s; want 30 of 100 used", w.Body)
	}
}
