package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
)

// TestNewPanicsOnTheProgramsMistakes checks that a middleware is not built if it could not limit anything, or if it
// would panic on its first request.
func TestNewPanicsOnTheProgramsMistakes(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	policy := limiter.Policy("p", headgate.FixedWindow{Rate: headgate.PerHour(1)})
	for want, build := range map[string]func(){
		"no policy":              func() { httplimit.New(nil, httplimit.ByIP()) },
		"no decider":             func() { httplimit.By(nil) },
		"the key is nil":         func() { httplimit.New(policy, nil) },
		`WithHeaders("X-Limit")`: func() { httplimit.New(policy, httplimit.ByIP(), httplimit.WithHeaders("X-Limit")) },
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, want) || !strings.Contains(got, "accepted: ") {
					t.Errorf("panic %q, want %q and what is accepted", got, want)
				}
			}()
			build()
		}()
	}
}

// TestNegativeCostIsTheProgramsMistake checks that a negative cost gets a 500, and that FailOpen does not serve it.
func TestNegativeCostIsTheProgramsMistake(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	policy := limiter.Policy("p", headgate.FixedWindow{Rate: headgate.PerHour(1)})
	cost := httplimit.WithCost(func(*http.Request) int64 { return -1 })
	for name, options := range map[string][]httplimit.Option{"default": {cost}, "fail open": {cost, httplimit.WithError(httplimit.FailOpen)}} {
		w := httptest.NewRecorder()
		httplimit.New(policy, httplimit.ByIP(), options...)(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "WithCost returned -1; accepted: 0 or more") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}
