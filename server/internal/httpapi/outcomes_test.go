package httpapi_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/httpapi"
	"github.com/headgate/headgate/server/internal/service"
)

// TestOutcomes checks that outcomes sent with a request are validated, change the rate, and stop all requests for the
// time of a Retry-After.
func TestOutcomes(t *testing.T) {
	config, err := policy.Parse("test.yaml", []byte("policies: {vendor: {algorithm: adaptive-rate, rate: 80/s, min: 20, max: 200, burst: 10}, plain: {algorithm: token-bucket, rate: 80/s}}"))
	if err != nil {
		t.Fatal(err)
	}
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	f := front{httpapi.New(service.New(service.Config{Limiter: core.New(core.Config{Store: store}), Policies: config.Policies}))}
	for _, c := range []struct {
		after  time.Duration
		body   string
		status int
		want   string
	}{
		{0, `{"policy":"vendor","key":"k","cost":10,"outcomes":{"good":20,"bad":10}}`, 200, `{"allowed":true,"policy":"vendor","limit":10,"remaining":0,"reset_after_ms":125,"delay_ms":0,"mode":"exact","overshoot_max":0,"in_force":{"rate":"80/s","changes":0}}`},
		// The rate is 70 per second from here on.
		{time.Second, `{"policy":"vendor","key":"k","cost":7}`, 200, `{"allowed":true,"policy":"vendor","limit":10,"remaining":3,"reset_after_ms":100,"delay_ms":0,"mode":"exact","overshoot_max":0,"in_force":{"rate":"70/s","changes":1}}`},
		{time.Second, `{"policy":"vendor","key":"k","outcomes":{"bad":1,"retry_after_ms":5000}}`, 429, `{"allowed":false,"policy":"vendor","limit":10,"remaining":0,"retry_after_ms":5000,`},
		{5 * time.Second, `{"policy":"vendor","key":"k"}`, 200, `{"allowed":true,"policy":"vendor","limit":10,"remaining":9,`},
		{0, `{"policy":"plain","key":"k","outcomes":{"bad":1,"retry_after_ms":5000}}`, 200, `{"allowed":true,"policy":"plain","limit":80,`},
		{0, `{"policy":"vendor","key":"k","outcomes":{"good":-1}}`, 400, `{"type":"about:blank","title":"Bad Request","status":400,"detail":"outcomes.good is -1; accepted: 0 to 1048576","field":"outcomes.good",`},
		{0, `{"policy":"vendor","key":"k","outcomes":{"bad":1048577}}`, 400, `{"type":"about:blank","title":"Bad Request","status":400,"detail":"outcomes.bad is 1048577; accepted: 0 to 1048576","field":"outcomes.bad",`},
		{0, `{"policy":"vendor","key":"k","outcomes":{"god":1}}`, 400, `{"type":"about:blank","title":"Bad Request","status":400,"detail":"unknown field \"outcomes.god\"; accepted: good, bad, retry_after_ms`},
		// Regression: bug 125.
		{0, `{"requests":[{"policy":"vendor","key":"k","outcomes":{"god":1}}]}`, 200, `{"decisions":[{"error":{"type":"about:blank","title":"Bad Request","status":400,"detail":"unknown field \"outcomes.god\"; accepted:`},
	} {
		clock.Advance(c.after)
		w := f.post("/v1/allow", c.body)
		if got := w.Body.String(); w.Code != c.status || len(got) < len(c.want) || got[:len(c.want)] != c.want {
			t.Errorf("%s: %d %s\nwant %s", c.body, w.Code, got, c.want)
		}
	}
	if w := f.post("/v1/peek", `{"policy":"vendor","key":"k","outcomes":{"good":1}}`); w.Code != http.StatusBadRequest {
		t.Errorf("peek with outcomes: %d %s", w.Code, w.Body)
	}
}
