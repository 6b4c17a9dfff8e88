package migrating

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/policy/filelimit"
)

const springPage = "../../../../docs/migrating-from-spring-cloud-gateway.md"

// script does the same arithmetic as the gateway's script: a token bucket in whole seconds.
type script struct {
	rate, burst, cost float64
	used              bool
	tokens, at        float64
}

func (s *script) take(now time.Duration) (passed bool, remaining float64) {
	second := math.Floor(now.Seconds())
	if !s.used {
		s.used, s.tokens = true, s.burst
	}
	s.tokens = min(s.burst, s.tokens+max(0, second-s.at)*s.rate)
	s.at = second
	if passed = s.tokens >= s.cost; passed {
		s.tokens -= s.cost
	}
	return passed, s.tokens
}

// front returns the status and the headers for one request.
type front struct {
	name  string
	clock *headgatetest.Clock
	take  func() *httptest.ResponseRecorder
}

// fronts returns one front for each way to decide with the page's policies. Each uses its own store.
func fronts(t *testing.T, rate, burst, cost int64) []front {
	t.Helper()
	policies := fmt.Sprintf("policies:\n  users: {algorithm: token-bucket, rate: %d/s, burst: %d, cost: %d, headers: spring}\n", rate, burst, cost) + springRoutes(t)
	a := newAPI(t, policies)
	byRoutes, routesClock := onClock(t)
	byPolicy, policyClock := onClock(t)
	users := byPolicy.Policy("users", headgate.TokenBucket{Rate: headgate.PerSecond(rate), Burst: burst})
	style := httplimit.WithHeaders(httplimit.Spring)
	routes := httplimit.By(filelimit.New(parse(t, policies), byRoutes), style)(http.NotFoundHandler())
	direct := httplimit.New(users, httplimit.ByHeader("X-User"), style, httplimit.WithCost(func(*http.Request) int64 { return cost }))(http.NotFoundHandler())
	serve := func(h http.Handler) func() *httptest.ResponseRecorder {
		return func() *httptest.ResponseRecorder {
			r, w := httptest.NewRequest(http.MethodGet, "/users/7", http.NoBody), httptest.NewRecorder()
			r.Header.Set("X-User", "ann")
			h.ServeHTTP(w, r)
			return w
		}
	}
	return []front{
		{"/v1/allow", a.clock, func() *httptest.ResponseRecorder {
			return a.post("/v1/allow", `{"policy":"users","key":"ann"}`, new(any))
		}},
		{"httplimit.New", policyClock, serve(direct)},
		{"httplimit.By", routesClock, serve(routes)},
	}
}

// springRoutes returns the routes in the page's file.
func springRoutes(t *testing.T) string {
	t.Helper()
	_, file := springFile(t)
	return file
}

func springFile(t *testing.T) (policies, routes string) {
	t.Helper()
	text, err := os.ReadFile(springPage)
	if err != nil {
		t.Fatal(err)
	}
	_, file, _ := strings.Cut(string(text), "After, `policies.yaml`:\n\n```yaml\n")
	file, _, found := strings.Cut(file, "```\n")
	policies, routes, both := strings.Cut(file, "routes:\n")
	if !found || !both {
		t.Fatal("the page has no policies with routes")
	}
	return policies, "routes:\n" + routes
}

// TestSpringTables computes every row in docs/migrating-from-spring-cloud-gateway.md: the script's results, and
// Headgate's results for each front.
func TestSpringTables(t *testing.T) {
	t.Parallel()
	const columns = "| time | requests | script: passed | Remaining | Headgate: passed | Remaining | Retry-After |"
	if policies, _ := springFile(t); !strings.Contains(policies, "rate: 1/s, burst: 180, cost: 60, headers: spring}") {
		t.Errorf("the page's policy is another than the tested one: %s", policies)
	}
	rows := table(t, springPage, 1, columns)
	for _, f := range fronts(t, 1, 180, 60) {
		t.Run(strings.ReplaceAll(f.name, "/", " "), func(t *testing.T) {
			spring := &script{rate: 1, burst: 180, cost: 60}
			zero := f.clock.Now()
			for _, row := range rows {
				if got := springRow(t, row, zero, spring, &f); got != strings.Join(row, "|") {
					t.Errorf("computed %s, the page says %s", got, strings.Join(row, "|"))
				}
			}
		})
	}
}

// springRow replays one row of the page's table with the script and with Headgate, and returns the row with the
// computed results.
func springRow(t *testing.T, row []string, zero time.Time, spring *script, f *front) string {
	t.Helper()
	var n int
	seconds, requests := 0.0, row[1]
	if _, err := fmt.Sscan(row[0]+" "+requests, &seconds, new(string), &n); err != nil || n < 1 {
		t.Fatal(row, err)
	}
	at := time.Duration(math.Round(seconds*1e6)) * time.Microsecond
	f.clock.Set(zero.Add(at))
	passed, left, ours := 0, 0.0, 0
	var last *httptest.ResponseRecorder
	for range n {
		ok, remaining := spring.take(at)
		left = remaining
		if ok {
			passed++
		}
		if last = f.take(); last.Code != http.StatusTooManyRequests {
			ours++
		}
	}
	h := last.Header()
	return fmt.Sprintf("%s|%s|%d|%v|%d|%s|%s", row[0], requests, passed, left, ours, h.Get("X-Ratelimit-Remaining"), h.Get("Retry-After"))
}

// TestSpringHeaders compares the headers of each response, including denials, with the page's table.
func TestSpringHeaders(t *testing.T) {
	t.Parallel()
	for _, f := range fronts(t, 1, 180, 60) {
		for range 4 {
			h := f.take().Header()
			for _, row := range table(t, springPage, 1, "| header | script | Headgate |") {
				name := strings.Trim(row[0], "`")
				if name == "X-RateLimit-Remaining" {
					continue // TestSpringTables compares these
				}
				if len(h.Values(name)) != 1 || h.Get(name) != row[2] {
					t.Errorf("%s: %s is %v, the page says %s", f.name, name, h.Values(name), row[2])
				}
			}
		}
	}
}

// A request without its key is denied, as the page states.
func TestSpringEmptyKey(t *testing.T) {
	t.Parallel()
	limiter, _ := onClock(t)
	policies, routes := springFile(t)
	byRoutes := httplimit.By(filelimit.New(parse(t, policies+routes), limiter))(http.NotFoundHandler())
	users := limiter.Policy("users", headgate.TokenBucket{Rate: headgate.PerSecond(1)})
	byPolicy := httplimit.New(users, httplimit.ByHeader("X-User"))(http.NotFoundHandler())
	for _, c := range []struct {
		name string
		h    http.Handler
		want int
	}{{"routes", byRoutes, 400}, {"httplimit.New", byPolicy, 400}} {
		w := httptest.NewRecorder()
		c.h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/users/7", http.NoBody))
		if w.Code != c.want || w.Header().Get("Retry-After") != "" {
			t.Errorf("%s: %d %v, want %d", c.name, w.Code, w.Header(), c.want)
		}
	}
}
