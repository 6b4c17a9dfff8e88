package servicetest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
	"github.com/headgate/headgate/server/internal/service"
)

// Ask sends an HTTP request through a front end, and returns the status and the headers of the answer.
type Ask func(t *testing.T, r *http.Request) (status int, h http.Header)

// RunRoutes tests a front end that decides HTTP requests by routes: the path is the policy, X-Key is the key, and
// X-Cost is the cost. It omits peeks, and skips cases that need anything other than takes from a policy. The argument
// open gets a service and a Go program's limiter, and uses one of them. Only the fields that the headers contain are
// compared. It also checks that odd requests, by which a client could leave a limit, are refused.
func RunRoutes(t *testing.T, open func(t *testing.T, s *service.Service, l *filelimit.Limiter) Ask) {
	t.Helper()
	count := 0
	for _, c := range cases {
		steps := slices.DeleteFunc(slices.Clone(c.steps), func(s step) bool { return s.request.Kind == engine.OpPeek || c.away && !s.takes() })
		if len(steps) == 0 || slices.ContainsFunc(steps, func(s step) bool { return !s.takes() }) { // later steps depend on each one
			continue
		}
		count++
		t.Run(c.name, func(t *testing.T) {
			clock := headgatetest.NewClock()
			g := newGround(t, clock, &c)
			config, err := policy.Parse("servicetest.yaml", []byte(Policies+routesOf(steps)))
			if err != nil {
				t.Fatal(err)
			}
			s := service.New(service.Config{Limiter: g.limiter.Core(), Failure: g.failure})
			s.SetPolicies(config.Policies, config.Routes)
			ask := open(t, s, filelimit.New(config, g.limiter, filelimit.WithFailure(g.failure)))
			for i, s := range steps {
				clock.Advance(s.after)
				if got, want := ofHeaders(ask(t, s.request.http())), s.want.inHeaders(); got != want {
					t.Errorf("step %d: %+v\n got %+v\nwant %+v\nbecause %s", i, s.request, got, want, c.why)
				}
			}
		})
	}
	t.Run("odd requests", func(t *testing.T) { runOdd(t, open) })
	if count < 6 {
		t.Errorf("%d cases, want at least 6", count)
	}
}

// takes reports whether a route can express the step: it takes units from a policy without a class, a list of charges
// or a delay.
func (s *step) takes() bool {
	r := &s.request
	return r.Kind == engine.OpAllow && r.Policy != "" && r.Policy != "missing" && r.Charges == nil && r.Class == "" && r.Key != "" && s.want.DelayMillis == 0
}

// routesOf returns the routes for the policies of the steps.
func routesOf(steps []step) string {
	routes, known := "routes:\n", map[string]bool{}
	for _, s := range steps {
		if name := s.request.Policy; !known[name] {
			known[name] = true
			routes += fmt.Sprintf("  - {match: {path: /%s}, key: [{header: X-Key}], cost: {header: X-Cost, max: 1000}, policies: [%s]}\n", name, name)
		}
	}
	return routes
}

// http returns the request for a route.
func (r *Request) http() *http.Request {
	request := httptest.NewRequest(http.MethodGet, "/"+r.Policy, http.NoBody)
	request.RemoteAddr = "127.0.0.1:1000" // a trusted proxy
	request.Header.Set("X-Key", r.Key)
	if r.Cost >= 0 {
		request.Header.Set("X-Cost", strconv.FormatInt(r.Cost, 10))
	}
	return request
}

// inHeaders returns a copy of an answer with only the fields that the status and the headers contain.
func (a Answer) inHeaders() Answer {
	if a.Failed {
		return Answer{Failed: true, Code: a.Code}
	}
	b := Answer{Allowed: a.Allowed, Unlimited: a.Unlimited, Never: a.Never, Remaining: a.Remaining, RetrySeconds: a.RetrySeconds}
	if a.Allowed {
		b.ResetSeconds = a.ResetSeconds
	}
	return b
}

// ofHeaders builds an Answer from a status and the headers of the RateLimit draft. It sets the same fields as
// inHeaders, so that the two can be compared.
func ofHeaders(status int, h http.Header) Answer {
	a := Answer{Allowed: status == http.StatusOK, Unlimited: h.Get("Ratelimit") == ""}
	if status == http.StatusServiceUnavailable {
		return Answer{Failed: true, Code: service.Unavailable}
	}
	for field := range strings.SplitSeq(strings.Split(h.Get("Ratelimit"), ",")[0], ";") {
		name, value, _ := strings.Cut(field, "=")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch {
		case name == "r":
			a.Remaining = n
		case name == "t" && a.Allowed:
			a.ResetSeconds = n
		}
	}
	if retry := h.Get("Retry-After"); !a.Allowed {
		a.RetrySeconds, _ = strconv.ParseInt(retry, 10, 64)
		a.Never, a.Unlimited = retry == "", false
	}
	return a
}
