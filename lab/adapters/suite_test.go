package adapters

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/internal/rule"
)

// starter starts a server whose routes use the adapter's middleware, and returns its URL. It stops the server at the
// end of the test. The routes are:
//
//	/hello           responds with hello
//	/users/{id}      responds with the id
//	/status/{code}   responds with the status. A status of 400 or above is sent as a framework error
//	/late/{code}     fails, and an outer handler of the framework responds with the status
//	/panic           panics, and the framework recovers
type starter func(t *testing.T, policy *headgate.Policy, key httplimit.Key, options ...httplimit.Option) (url string)

// runAdapter runs the tests.
func runAdapter(t *testing.T, start starter) {
	t.Run("headers and denial", func(t *testing.T) { denial(t, start) })
	t.Run("keys", func(t *testing.T) { keys(t, start) })
	t.Run("responses", func(t *testing.T) { responses(t, start) })
	t.Run("outcomes", func(t *testing.T) { outcomes(t, start) })
	t.Run("the store is away", func(t *testing.T) { storeAway(t, start) })
}

func limiter(t *testing.T, options ...headgate.Option) *headgate.Limiter {
	l := headgate.New(options...)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

type answer struct {
	status int
	header http.Header
	body   string
}

func get(t *testing.T, url string, headers ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(body)}
}

// outcomes checks that an adaptive rate falls if the handler, or the framework on the handler's behalf, responds with
// a failure.
func outcomes(t *testing.T, start starter) {
	for _, path := range []string{"/status/500", "/late/503", "/panic"} {
		p := limiter(t).Policy("load", headgate.AdaptiveRate{Rate: headgate.PerSecond(9000), Min: 5000, Max: 10_000, Interval: 100 * time.Millisecond})
		url := start(t, p, httplimit.All())
		for tries := 0; ; tries++ {
			get(t, url+path)
			d, err := p.Peek(t.Context(), "all", 0)
			if err != nil {
				t.Fatal(err)
			}
			if d.Binding.Version > 0 {
				if d.Binding.Rate.Count >= 9000 {
					t.Errorf("%s: the rate is %s", path, d.Binding.Rate)
				}
				break
			}
			if tries == 20_000 {
				t.Fatalf("%s: the rate never moves", path)
			}
		}
	}
}

// denial checks that the response to an admitted request contains the rate-limit headers, and that a denied request
// also gets a problem body and does not reach the handler.
func denial(t *testing.T, start starter) {
	url := start(t, limiter(t).PolicyOf("per-ip", rule.FixedWindow(rule.PerHour(2))), httplimit.ByIP())
	for i, want := range []string{`"per-ip";r=1;t=3600`, `"per-ip";r=0;t=3600`} {
		a := get(t, url+"/hello")
		if a.status != 200 || a.body != "hello" || a.header.Get("Ratelimit") != want || a.header.Get("Ratelimit-Policy") != `"per-ip";q=2;w=3600` {
			t.Errorf("request %d: %+v", i, a)
		}
	}
	a := get(t, url+"/hello")
	if a.status != 429 || a.header.Get("Retry-After") != "3600" || a.header.Get("Cache-Control") != "no-store" ||
		a.header.Get("Content-Type") != "application/problem+json" || !strings.Contains(a.body, `"violated-policies":["per-ip"]`) || strings.Contains(a.body, "hello") {
		t.Errorf("denied: %+v", a)
	}
}

// keys checks that a route's parameter is available as a path value, and that a request without its key, or with a key
// that is too long, gets a 400.
func keys(t *testing.T, start starter) {
	l := limiter(t)
	url := start(t, l.PolicyOf("user", rule.FixedWindow(rule.PerHour(1))), httplimit.ByPathValue("id"))
	for i, c := range []struct {
		path string
		want int
	}{{"/users/7", 200}, {"/users/7", 429}, {"/users/8", 200}, {"/hello", 400}} {
		if a := get(t, url+c.path); a.status != c.want || c.want == 200 && !strings.HasSuffix(c.path, a.body) {
			t.Errorf("request %d of %s: %+v, want %d", i, c.path, a, c.want)
		}
	}
	url = start(t, l.PolicyOf("header", rule.FixedWindow(rule.PerHour(1))), httplimit.ByHeader("X-User"))
	for i, c := range []struct {
		user string
		want int
	}{{"a", 200}, {"a", 429}, {"b", 200}, {"", 400}, {strings.Repeat("x", engine.MaxKeyBytes+1), 400}} {
		if a := get(t, url+"/hello", "X-User", c.user); a.status != c.want {
			t.Errorf("request %d of user %.9q: %+v, want %d", i, c.user, a, c.want)
		}
	}
}

// late is an error that makes an outer handler respond with this status and the body "late".
type late int

func (late) Error() string { return "for the test" }

// responses checks that the rule receives the status and the number of bytes that the client got, including for the
// framework's errors, outer handlers' errors and panics.
func responses(t *testing.T, start starter) {
	seen, gave := make(chan httplimit.Response, 1), make(chan struct{}, 1)
	count := func(_ *http.Request, o httplimit.Response) int64 { seen <- o; return httplimit.OnlyFailures(nil, o) }
	observe := headgate.WithCore(func(c *core.Config) {
		c.Observer = func(_ context.Context, op *engine.Op, _ *engine.Answer) {
			if op.Kind == engine.OpSettle {
				gave <- struct{}{}
			}
		}
	})
	policy := limiter(t, observe).PolicyOf("p", rule.FixedWindow(rule.PerHour(9)))
	url := start(t, policy, httplimit.All(), httplimit.WithFinalCost(count))
	spent := int64(0)
	for _, c := range []struct {
		path          string
		want          int
		bytes         int64 // -1 for the framework's own text
		clientFailure bool
	}{{"/hello", 200, 5, false}, {"/status/401", 401, -1, true}, {"/late/401", 401, 4, true}, {"/late/503", 503, 4, false}, {"/status/204", 204, 0, false}, {"/status/503", 503, -1, false}, {"/panic", 500, -1, false}, {"/status/404", 404, -1, true}} {
		a, o := get(t, url+c.path), <-seen
		if a.status != c.want || o.Status != c.want || o.Charged != 1 || c.bytes >= 0 && o.Bytes != c.bytes {
			t.Errorf("%s: answered %d, response %+v", c.path, a.status, o)
		}
		if c.clientFailure {
			spent++
		} else {
			<-gave // some frameworks respond before the charge is settled
		}
		d, err := policy.Peek(t.Context(), "all", 0)
		if err != nil || d.Limit-d.Remaining != spent {
			t.Errorf("after %s: %d spent, want %d; %v", c.path, d.Limit-d.Remaining, spent, err)
		}
	}
}

// away is a store that does not answer.
type away struct{ engine.Store }

func (away) Do(_ context.Context, _ []engine.Op, results []engine.Answer) {
	for i := range results {
		if results[i].Err == nil {
			results[i].Err = headgate.ErrStoreUnavailable
		}
	}
}

func storeAway(t *testing.T, start starter) {
	policy := limiter(t, headgate.WithStore(away{})).PolicyOf("p", rule.FixedWindow(rule.PerHour(1)))
	if a := get(t, start(t, policy, httplimit.All())+"/hello"); a.status != 503 || a.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("fail closed: %+v", a)
	}
	if a := get(t, start(t, policy, httplimit.All(), httplimit.WithError(httplimit.FailOpen))+"/hello"); a.status != 200 || a.body != "hello" {
		t.Errorf("fail open: %+v", a)
	}
}

// errRefused is the error for all requests to a countingDecider after the first.
var errRefused = errors.New("unknown")

// countingDecider decides requests for a test of middleware: see AllowRequest.
type countingDecider struct{ asked int }

// AllowRequest allows the first request, and returns errRefused for all others.
func (d *countingDecider) AllowRequest(*http.Request) (headgate.Decision, error) {
	if d.asked++; d.asked > 1 {
		return headgate.Decision{}, errRefused
	}
	return headgate.Decision{Allowed: true, Unlimited: true}, nil
}

// runBy tests a server whose middleware uses a countingDecider: the first request passes without rate-limit headers, and
// the second gets a 503.
func runBy(t *testing.T, url string) {
	t.Helper()
	if a := get(t, url+"/hello"); a.status != 200 || a.body != "hello" || a.header.Get("Ratelimit") != "" {
		t.Errorf("admitted: %+v", a)
	}
	if a := get(t, url+"/hello"); a.status != 503 {
		t.Errorf("not known: %+v", a)
	}
}

// oneInFlight returns a semaphore of one unit.
func oneInFlight(t *testing.T) *headgate.Semaphore {
	t.Helper()
	return limiter(t).Semaphore("one", headgate.Concurrency{Units: 1, Lease: time.Hour})
}

// releases checks that each request gives its unit of the semaphore back, however it ends.
func releases(t *testing.T, one *headgate.Semaphore, url string) {
	t.Helper()
	for _, path := range []string{"/hello", "/status/500", "/late/503", "/panic", "/hello"} {
		if a := get(t, url+path); a.status == http.StatusTooManyRequests {
			t.Errorf("%s: %+v", path, a)
		}
		for tries := 0; ; tries++ { // some frameworks settle after the response
			d, err := one.Peek(t.Context(), "all", 1)
			if err == nil && d.Allowed {
				break
			}
			if time.Sleep(time.Millisecond); tries == 5000 {
				t.Fatalf("after %s: %+v, %v", path, d, err)
			}
		}
	}
	permit, _, err := one.TryAcquire(t.Context(), "all", 1)
	if err != nil {
		t.Fatal(err)
	}
	if a := get(t, url+"/hello"); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") != "1" {
		t.Errorf("beside another one: %+v", a)
	}
	if err := permit.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
