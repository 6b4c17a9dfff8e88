package gateway_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/gateway"
	"github.com/headgate/headgate/server/internal/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a gateway that serves on a loopback address until the test ends, with a client for it.
type running struct {
	*gateway.Gateway

	t       testing.TB
	service *service.Service
	server  *http.Server
	address string
	client  *http.Client
}

// start runs a gateway with a policies file until the test ends. The function set changes the gateway's configuration.
// It can be nil.
func start(t testing.TB, file string, set func(*gateway.Config)) *running {
	t.Helper()
	limiter := core.New(core.Config{})
	t.Cleanup(func() { limiter.Close() })
	return startOn(t, service.Config{Limiter: limiter}, file, set)
}

func startOn(t testing.TB, c service.Config, file string, set func(*gateway.Config)) *running {
	t.Helper()
	config, err := (policy.Reader{Gateway: true}).Parse("test.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	s := service.New(c)
	s.SetPolicies(config.Policies, config.Routes)
	return serve(t, s, set)
}

// serve runs a gateway for a service.
func serve(t testing.TB, s *service.Service, set func(*gateway.Config)) *running {
	t.Helper()
	gc := gateway.Config{Service: s, StallTimeout: 10 * time.Second, UpstreamTimeout: 10 * time.Second, MaxWaiting: 100, Logger: slog.New(slog.DiscardHandler)}
	if set != nil {
		set(&gc)
	}
	g := gateway.New(gc)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &running{Gateway: g, t: t, service: s, server: g.Server(slog.New(slog.DiscardHandler)), address: l.Addr().String(), client: &http.Client{Transport: new(http.Transport), Timeout: 20 * time.Second}}
	served := make(chan error, 1)
	go func() { served <- r.server.Serve(g.Listen(l)) }()
	t.Cleanup(func() {
		r.client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if r.server.Shutdown(ctx) != nil {
			r.server.Close()
		}
		<-served
		g.Close()
	})
	return r
}

// upstream starts a server that runs until the test ends.
func upstream(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// to returns a function that sets the default upstream.
func to(t testing.TB, url string) func(*gateway.Config) {
	t.Helper()
	u, err := route.ParseUpstream(gateway.DefaultUpstream, url)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *gateway.Config) { c.Upstream = u }
}

// answer is an answer that was read completely.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // error of the body, or of the whole request, in which case the status is 0
}

// send sends a request with headers such as "X-User: 7" through the gateway.
func (r *running) send(method, path string, headers ...string) answer {
	r.t.Helper()
	request, err := http.NewRequest(method, "http://"+r.address+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		if request.Header.Add(name, value); name == "Host" {
			request.Host = value
		}
	}
	return r.do(request)
}

func (r *running) do(request *http.Request) answer {
	r.t.Helper()
	response, err := r.client.Do(request)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(body), err}
}

// remaining returns how many units a key has left.
func (r *running) remaining(policy, key string) int64 { return r.peek(policy, key).Binds().Remaining }

func (r *running) peek(policy, key string) *decide.Response {
	r.t.Helper()
	var responses [1]decide.Response
	r.service.Do(context.Background(), service.Admin, []decide.Request{{Kind: engine.OpPeek, Item: decide.Item{Policy: policy, Key: key}}}, responses[:])
	if err := responses[0].Err; err != nil {
		r.t.Fatal(err)
	}
	return &responses[0]
}

// until waits until a condition is true. The test fails if this takes more than 10 s.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within 10 s: " + what)
		}
	}
}

var discard = slog.New(slog.DiscardHandler)

const hour = "algorithm: fixed-window, limit: 3, window: 1h"

// TestRoutesDecideAndChooseTheUpstream checks that requests go to their route's upstream, and that answers contain the
// headers of the route's policy.
func TestRoutesDecideAndChooseTheUpstream(t *testing.T) {
	seen := make(chan *http.Request, 100)
	users := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r
		w.Header().Set("Ratelimit", "the upstream's own")
		w.Header().Set("X-Ratelimit-Remaining", "7")
		_, _ = io.WriteString(w, "users "+r.URL.RequestURI())
	})
	rest := upstream(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "rest") })
	g := start(t, `
policies: {user: {`+hour+`}, other: {`+hour+`, headers: x-ratelimit}, silent: {`+hour+`, headers: off}}
upstreams: {users: "`+users+`/base"}
routes:
  - {match: {path: "/users/{id}"}, key: [{path: id}], policies: [user], upstream: users}
  - {match: {path: /other}, key: [{header: X-User}], policies: [other]}
  - {match: {path: /silent}, key: [{const: all}], policies: [silent], upstream: users}
`, to(t, rest))

	first := g.send("GET", "/users/7?a=b&c=d%20e", "Host: api.example.com")
	if first.status != 200 || first.body != "users /base/users/7?a=b&c=d%20e" {
		t.Errorf("%d %q", first.status, first.body)
	}
	if got := first.header["Ratelimit"]; len(got) != 1 || !strings.HasPrefix(got[0], `"user";r=2;t=`) || first.header.Get("Ratelimit-Policy") != `"user";q=3;w=3600` {
		t.Errorf("headers of an allowed request: %v", first.header)
	}
	if first.header["X-Ratelimit-Remaining"] != nil {
		t.Errorf("the upstream's headers stay: %v", first.header)
	}
	if r := <-seen; r.Host != "api.example.com" {
		t.Errorf("host %q", r.Host)
	}
	if got := g.send("GET", "/elsewhere"); got.status != 200 || got.body != "rest" || got.header["Ratelimit"] != nil {
		t.Errorf("without a route: %+v", got)
	}
	if got := g.send("GET", "/other", "X-User: 1"); got.body != "rest" || got.header.Get("X-Ratelimit-Remaining") != "2" {
		t.Errorf("another style: %+v", got)
	}
	if got := g.send("GET", "/silent"); got.header.Get("Ratelimit") != "the upstream's own" {
		t.Errorf("headers: off: %v", got.header)
	}
	g.send("GET", "/users/7")
	g.send("GET", "/users/%37")
	denied := g.send("GET", "/users/7", "X-Request-Id: abc")
	var problem struct {
		Type      string   `json:"type"`
		Status    int      `json:"status"`
		Violated  []string `json:"violated-policies"`
		RequestID string   `json:"request_id"`
	}
	if err := json.Unmarshal([]byte(denied.body), &problem); err != nil || denied.status != 429 || problem.Status != 429 ||
		problem.Type != "https://iana.org/assignments/http-problem-types#quota-exceeded" || problem.Violated[0] != "user" || problem.RequestID != "abc" {
		t.Errorf("denied: %d %q %v", denied.status, denied.body, err)
	}
	if after, _ := strconv.Atoi(denied.header.Get("Retry-After")); after < 3500 || denied.header.Get("Cache-Control") != "no-store" || denied.header.Get("Ratelimit") == "" || denied.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("denied: %v", denied.header)
	}
	s := g.Stats()
	if len(s.Upstreams) != 2 || s.Upstreams[0].Name != "(default)" || s.Upstreams[0].Answers[2] != 2 || s.Upstreams[1].Name != "users" || s.Upstreams[1].Answers[2] != 4 || s.UnmatchedPassed != 1 {
		t.Errorf("counts %+v", s)
	}
	g.Keep(nil)
	if s := g.Stats(); len(s.Upstreams) != 1 || s.Upstreams[0].Name != "(default)" {
		t.Errorf("an upstream that has left the file: %+v", s.Upstreams)
	}
}

// TestRequestsThatMayNotPass checks that denied and rejected requests do not reach the upstream.
func TestRequestsThatMayNotPass(t *testing.T) {
	rest := upstream(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the upstream got %s %s", r.Method, r.URL) })
	file := `
policies: {user: {` + hour + `}}
upstreams: {none: "` + rest + `"}
routes:
  - {match: {path: /user}, key: [{header: X-User}], policies: [user], upstream: none}
  - {match: {path: /login}, key: [{header: X-API-Key}], empty_key_status: 401, policies: [user], upstream: none}
  - {match: {path: /nowhere}, key: [{const: all}], policies: [user]}
`
	g := start(t, file, func(c *gateway.Config) { c.DenyUnmatched = true; c.ReadyPath = "/ready" })
	if got := g.send("GET", "/user"); got.status != 400 || got.header["Retry-After"] != nil || got.header["Ratelimit"] != nil || !strings.Contains(got.body, "lacks a part of its key: header X-User") {
		t.Errorf("empty key: %+v", got)
	}
	if got := g.send("GET", "/login"); got.status != 401 || !strings.Contains(got.body, "a part of its key: header X-API-Key") {
		t.Errorf("empty key with a status of its own: %+v", got)
	}
	if got := g.send("POST", "/login", "Content-Type: application/grpc"); got.header.Get("Grpc-Status") != "16" {
		t.Errorf("gRPC: %+v", got)
	}
	if got := g.send("GET", "/other", "X-Request-Id: r1"); got.header.Get("X-Request-ID") != "r1" || got.status != 404 || !strings.Contains(got.body, "no route is for this request") || got.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("no route: %+v", got)
	}
	if got := g.send("GET", "/nowhere"); got.status != 502 || !strings.Contains(got.body, "no upstream is for this request") || g.remaining("user", "all") != 3 {
		t.Errorf("no upstream: %+v", got)
	}
	if got := g.send("GET", "/ready"); got.status != 200 || !strings.Contains(got.body, "ready") {
		t.Errorf("ready: %+v", got)
	}
	g.service.Drain()
	if got := g.send("GET", "/ready"); got.status != 503 {
		t.Errorf("ready while draining: %+v", got)
	}
	if got := g.send("GET", "/login", "X-Request-Id: r2", "X-API-Key: a", "X_API_Key: b"); got.header.Get("X-Request-ID") != "r2" || got.status != 400 {
		t.Errorf("a header that some servers take for the key: %+v", got)
	}
	if got := exchange(t, g.address, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 405 ") || !strings.Contains(got, "X-Request-Id: ") {
		t.Errorf("CONNECT: %q", got)
	}
}

// away is a store that does not answer.
type away struct{}

func (away) Do(_ context.Context, _ []engine.Op, results []engine.Answer) {
	for i := range results {
		results[i].Err = engine.ErrStoreUnavailable
	}
}

func (away) Close() error { return nil }

// TestFailureModes checks that if there is no decision, the answer is a 503 or the request passes, depending on the
// failure mode.
func TestFailureModes(t *testing.T) {
	rest := upstream(t, func(http.ResponseWriter, *http.Request) {})
	limiter := core.New(core.Config{Store: away{}})
	defer limiter.Close()
	g := startOn(t, service.Config{Limiter: limiter}, `
policies: {closed: {`+hour+`}, open: {`+hour+`, failure: allow}, paced: {algorithm: pacer, rate: 1/s, max_queue: 5, failure: allow}}
routes:
  - {match: {path: /closed}, key: [{const: all}], policies: [closed]}
  - {match: {path: /open}, key: [{const: all}], policies: [open], refund_on_error: true}
  - {match: {path: /paced}, key: [{const: all}], policies: [paced]}
`, to(t, rest))
	for path, want := range map[string]int{"/closed": 503, "/open": 200, "/paced": 200} {
		got := g.send("GET", path)
		if got.status != want || want == 503 && (got.header.Get("Cache-Control") != "no-store" || got.header["X-Request-Id"] == nil) {
			t.Errorf("%s: %+v, want %d", path, got, want)
		}
	}
}
