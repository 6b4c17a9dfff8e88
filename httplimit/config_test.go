package httplimit_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/adaptive"
	"github.com/headgate/headgate/httplimit"
)

// TestNewPanicsOnTheProgramsMistakes checks that a middleware is not built if it could not limit anything, or if it
// would panic on its first request.
func TestNewPanicsOnTheProgramsMistakes(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	policy := limiter.Policy("p", headgate.FixedWindow{Rate: headgate.PerHour(1)})
	item := httplimit.Item{Policy: policy, Key: httplimit.ByIP()}
	all := httplimit.AllOf(limiter, item)
	for want, build := range map[string]func(){
		"no policy":              func() { httplimit.New(nil, httplimit.ByIP()) },
		"no decider":             func() { httplimit.By(nil) },
		"the key is nil":         func() { httplimit.New(policy, nil) },
		`WithHeaders("X-Limit")`: func() { httplimit.New(policy, httplimit.ByIP(), httplimit.WithHeaders("X-Limit")) },

		// Each of these used to be built, and to answer every request with an error, or not to limit it as written
		// (regression: bugs 141, 142 and 191).
		"the handler is nil":      func() { httplimit.New(policy, httplimit.ByIP())(nil) },
		"handler is nil":          func() { httplimit.Adaptive(&adaptive.Limiter{})(nil) },
		"ByHeader has no name":    func() { httplimit.ByHeader("") },
		"r.Host":                  func() { httplimit.ByHeader("host") },
		"ByCookie has no name":    func() { httplimit.ByCookie("") },
		"ByQuery has no name":     func() { httplimit.ByQuery("") },
		"ByPathValue has no name": func() { httplimit.ByPathValue("") },
		"network 1 of the proxies": func() {
			notAPrefix, _ := netip.ParsePrefix("10.0.0.1")
			httplimit.ByIP(netip.MustParsePrefix("10.0.0.0/8"), notAPrefix)
		},
		"the policy of item 0 is of another limiter": func() { httplimit.AllOf(headgate.New(), item) },
		"WithCost has no effect with By":             func() { httplimit.By(all, httplimit.WithCost(func(*http.Request) int64 { return 9 })) },
		"WithPolicy has no effect with By":           func() { httplimit.By(all, httplimit.WithPolicy(func(*http.Request) *headgate.Policy { return nil })) },
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

// TestFailOpenOfAClosedLimiter checks that FailOpen does not serve requests without a limit because the program has closed
// its limiter, such as with a defer in the function that builds the handler (regression: bug 143).
func TestFailOpenOfAClosedLimiter(t *testing.T) {
	limiter := headgate.New()
	policy := limiter.Policy("p", headgate.FixedWindow{Rate: headgate.PerHour(1)})
	handler := httplimit.New(policy, httplimit.ByIP(), httplimit.WithError(httplimit.FailOpen))(http.NotFoundHandler())
	limiter.Close()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A client that leaves before the decision is not served without a limit while the store answers (regression: bug 261).
func TestFailOpenOfAClientThatLeft(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	policy := limiter.Policy("p", headgate.FixedWindow{Rate: headgate.PerHour(1)})
	handler := httplimit.New(policy, httplimit.ByIP(), httplimit.WithError(httplimit.FailOpen))(http.NotFoundHandler())
	left, leave := context.WithCancel(t.Context())
	leave()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(left, http.MethodGet, "/", nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// An item that names no policy for a request is told of its own fields, not of New's (regression: bug 200).
func TestItemWithoutAPolicy(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	none := func(*http.Request) *headgate.Policy { return nil }
	handler := httplimit.By(httplimit.AllOf(limiter, httplimit.Item{Key: httplimit.ByIP(), Choose: none}))(http.NotFoundHandler())
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "its Choose returned none") {
		t.Error(w.Code, w.Body)
	}
}
