package decide_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/filelimit"
)

// A change that denies a key until a time answers with the wait until that time. A denial without an end, as before, has
// none (regression: bug 181).
func TestDenialsEndWithTheirChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, err := policy.Parse("x.yaml", []byte(`
policies: {api: {algorithm: token-bucket, rate: 1/s}, slow: {algorithm: fixed-window, limit: 1, window: 1h}, both: {all: [api, slow]}}
`))
		if err != nil {
			t.Fatal(err)
		}
		var left map[int]error
		config, left = config.With([]policy.Change{
			{Policy: "api", Key: "ann", Fields: "deny", Ends: time.Now().Add(10 * time.Minute)},
			{Policy: "api", Key: "b*", Fields: `{"deny": true}`, Ends: time.Now().Add(time.Minute)},
			{Policy: "api", Key: "bob", Fields: "deny"},
			{Policy: "api", Key: "carl", Fields: "unlimited", Ends: time.Now().Add(time.Minute)},
		})
		if len(left) > 0 {
			t.Fatal(left)
		}
		limiter := headgate.New()
		defer limiter.Close()
		send := func(policyName, key string) (allowed bool, h http.Header) {
			responses, h := make([]decide.Response, 1), http.Header{}
			filelimit.New(config, limiter).Do(t.Context(), []decide.Request{{Kind: engine.OpAllow, Item: decide.Item{Policy: policyName, Key: key}}}, responses)
			responses[0].WriteHeaders(h)
			return responses[0].Allowed, h
		}
		time.Sleep(time.Minute - 1500*time.Millisecond)
		for _, c := range []struct{ policy, key, after, limit string }{
			{"api", "ann", "542", `"api";r=0;t=542`},
			{"api", "ben", "2", `"api";r=0;t=2`},
			{"api", "bob", "", `"api";r=0;t=0`},
			{"both", "ann", "542", `"api";r=0;t=542, "slow";r=1;t=0`},
		} {
			if allowed, h := send(c.policy, c.key); allowed || h.Get("Retry-After") != c.after || h.Get("Ratelimit") != c.limit {
				t.Errorf("%s of %s: %t %v", c.key, c.policy, allowed, h)
			}
		}
		if allowed, _ := send("api", "carl"); !allowed {
			t.Error("carl is denied")
		}
		time.Sleep(time.Hour) // the change is over, but not yet taken out of the configuration
		if allowed, h := send("api", "ann"); allowed || h.Get("Retry-After") != "1" {
			t.Errorf("after its end: %t %v", allowed, h)
		}
	})
}
