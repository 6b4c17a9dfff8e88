package servers

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
)

// logbook is a log that can be read while the server is writing to it.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logbook) lines(with string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, with) {
			found = append(found, line)
		}
	}
	return found
}

// web is a server in this process that tests call over HTTP.
type web struct {
	t      *testing.T
	url    string
	log    *logbook
	client *http.Client
	daemon *daemon.Daemon
	stop   func() // stops the server, once
}

func openWeb(t *testing.T, c daemon.Config) *web {
	t.Helper()
	w := &web{t: t, log: new(logbook), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 50}}}
	c.RESP, c.HTTP, c.Version, c.Logger = daemon.Off, "127.0.0.1:0", "v1.2.3", slog.New(slog.NewTextHandler(w.log, nil))
	c.Deadline = cmp.Or(c.Deadline, 2*time.Second) // a busy machine must not look like an outage
	c.Admin.Address = cmp.Or(c.Admin.Address, "127.0.0.1:0")
	d, err := daemon.New(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	w.daemon = d
	w.url = "http://" + d.HTTPAddr().String()
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- d.Run(ctx, ctx) }()
	w.stop = sync.OnceFunc(func() {
		w.client.CloseIdleConnections()
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(w.stop)
	return w
}

// status sends a request for a path and returns the response's status and body. If send is not empty, the request is a
// POST with that body.
func (w *web) status(path, send string) (int, string) {
	w.t.Helper()
	method := http.MethodGet
	if send != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(context.Background(), method, w.url+path, strings.NewReader(send))
	if err != nil {
		w.t.Fatal(err)
	}
	response, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}

// want sends a take and checks the response's status.
func (w *web) want(status int, take string) {
	w.t.Helper()
	if got, body := w.status("/v1/allow", take); got != status {
		w.t.Errorf("%s: %d %s, want %d", take, got, body, status)
	}
}

// until repeats a request until the response has the wanted status. It fails the test if that takes too long.
func (w *web) until(want int, path, send string) {
	w.t.Helper()
	got := 0
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if got, _ = w.status(path, send); got == want {
			return
		}
	}
	w.t.Fatalf("%s: %d for 10 s, want %d", path, got, want)
}

// At start, the server logs one line, without the password. An outage is logged with one line when Redis stops
// answering and another when it answers again, whatever fails in between.
func TestServerLogsOutages(t *testing.T) {
	t.Parallel()
	const take = `{"key":"k","limit":"1000000/s"}`
	s := redistest.Standalone(t, redistest.Redis, "requirepass secret")
	w := openWeb(t, daemon.Config{Store: "redis://:secret@" + s.Addr()})
	w.until(http.StatusOK, "/v1/allow", take)
	serving := w.log.lines("msg=serving")
	if len(serving) != 1 || !strings.Contains(serving[0], " version=v1.2.3 resp=off http="+strings.TrimPrefix(w.url, "http://")+" store=redis://…@"+s.Addr()) {
		t.Errorf("at start: %q", serving)
	}
	for range 2 {
		s.Kill()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 20 {
					w.status("/v1/allow", take)
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Second) // longer than the gap within which two outages count as one
		s.Start()
		w.until(http.StatusOK, "/v1/allow", take)
		time.Sleep(time.Second)
	}
	away, back := w.log.lines("store away"), w.log.lines("store back")
	if len(away) != 2 || len(back) != 2 || !strings.Contains(back[0], " away_ms=") || !strings.Contains(back[0], " unknown=") || strings.Contains(back[0], " unknown=0") {
		t.Errorf("two outages:\n%s%s", strings.Join(away, ""), strings.Join(back, ""))
	}
	if all := w.log.lines("secret"); len(all) > 0 {
		t.Errorf("the password is in the log: %q", all)
	}
}

// A server that starts in an outage logs and counts one outage, which ends when shares no longer decide, and not when the
// check of the settings has an answer (regression: bug 240).
func TestStartInAnOutageIsOneOutage(t *testing.T) {
	t.Parallel()
	base, err := policy.Parse("p.yaml", []byte("policies: {p: {algorithm: token-bucket, rate: 1000000/s}}"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			s := redistest.Standalone(t, redistest.Redis)
			s.Kill()
			w := openWeb(t, daemon.Config{
				Store: "redis://" + s.Addr(), Base: base, Deadline: 50 * time.Millisecond, StoreOptions: open.Options{Fallback: &fallback.Config{Expect: 1}},
			})
			decides := func(mode string) bool {
				_, body := w.status("/v1/allow", `{"policy":"p","key":"k"}`)
				return strings.Contains(body, mode)
			}
			shares := 0
			testbed.Until(t, "no caller waits for Redis", func() bool {
				if decides("fallback") {
					shares++
				}
				return shares > 100
			})
			s.Start()
			testbed.Until(t, "Redis decides", func() bool { return decides("exact") })
			if away, back := w.log.lines("store away"), w.log.lines("store back"); len(away) != 1 || len(back) != 1 {
				t.Errorf("one outage:\n%s%s", strings.Join(away, ""), strings.Join(back, ""))
			}
		})
	}
}

// The server uses its own deadline, regardless of the deadlines in the store's URL and options.
func TestServerKeepsItsDeadline(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	const deadline = 500 * time.Millisecond
	w := openWeb(t, daemon.Config{Store: "redis://" + s.Addr() + "?deadline=20ms", Deadline: deadline, StoreOptions: open.Options{Deadline: 10 * time.Millisecond}})
	const take = `{"key":"k","limit":"1000000/s"}`
	w.want(http.StatusOK, take)
	s.Pause()
	defer s.Resume()
	fastest := time.Hour
	for range 2 {
		began := time.Now()
		w.want(http.StatusServiceUnavailable, take)
		fastest = min(fastest, time.Since(began))
	}
	if fastest < deadline*9/10 || fastest > 2*deadline {
		t.Errorf("a decision took %s, want %s", fastest, deadline)
	}
}

// If --ready-needs-store is set and any policy's failure mode is deny, a server is not ready while Redis is down or
// hangs. The check does not create keys.
func TestServerReadiness(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	w := openWeb(t, daemon.Config{Store: "redis://" + s.Addr(), ReadyNeedsStore: true})
	w.until(http.StatusOK, "/readyz", "")
	if keys := s.MustDo("keys", "*"); fmt.Sprint(keys) != "[hg/shards]" {
		t.Errorf("keys after a check: %v", keys)
	}
	s.Pause()
	time.Sleep(20 * time.Millisecond) // longer than a check's result is cached
	start := time.Now()
	code, body := w.status("/readyz", "")
	if code != http.StatusServiceUnavailable || time.Since(start) > 10*time.Second || !strings.Contains(body, `"detail":"not ready: the store could not decide: `) {
		t.Errorf("Redis hangs: %d %s after %s, want 503, and soon", code, body, time.Since(start))
	}
	for end := time.Now().Add(10 * time.Second); len(w.log.lines("store away")) == 0; { // a single late answer is not an outage
		if w.status("/readyz", ""); time.Now().After(end) {
			t.Fatal("Redis hangs, and the log does not say that the store is away")
		}
	}
	s.Resume()
	w.until(http.StatusOK, "/readyz", "")
	time.Sleep(time.Second) // longer than the gap within which two outages count as one
	s.Kill()
	w.until(http.StatusServiceUnavailable, "/readyz", "")
	if code, _ := w.status("/healthz", ""); code != http.StatusOK {
		t.Errorf("healthz: %d, want 200", code)
	}
	s.Start()
	w.until(http.StatusOK, "/readyz", "")
	if away, back := w.log.lines("store away"), w.log.lines("store back"); len(away) != 2 || len(back) != 2 {
		t.Errorf("the checks see %d outages and %d returns, want 2 of each", len(away), len(back))
	}
}

// While Redis is down, a server decides by its failure modes and is ready, so that a policy with failure mode deny does
// not make other policies unavailable. The same applies over HTTP, over gRPC and to the gateway.
func TestServerReadyWithoutStore(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	base, err := policy.Parse("p.yaml", []byte(`
policies: {own: {algorithm: token-bucket, rate: 1000000/s}, closed: {algorithm: fixed-window, limit: 10, window: 1h, failure: deny}}
routes: [{match: {path: /closed}, key: [{const: all}], policies: [closed]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	config := daemon.Config{Store: "redis://" + s.Addr(), Base: base, StoreOptions: open.Options{Fallback: &fallback.Config{Expect: 2}}}
	called := config
	called.GRPC = daemon.GRPC{Address: "127.0.0.1:0"}
	server := openWeb(t, called)
	needs := serveWeb(t, s, "--failure", "deny", "--ready-needs-store")
	front := config
	front.Gateway = &daemon.GatewayConfig{DenyUnmatched: true, ReadyPath: "/ready", StallTimeout: time.Minute}
	front.Base, err = policy.Parse("p.yaml", []byte(`
policies: {closed: {algorithm: fixed-window, limit: 10, window: 1h, failure: deny}}
upstreams: {own: "http://127.0.0.1:1"}
routes: [{match: {path: /closed}, key: [{const: all}], policies: [closed], upstream: own}]
`))
	if err != nil {
		t.Fatal(err)
	}
	gateway := openWeb(t, front)
	strict := front
	strict.ReadyNeedsStore = true
	strictGateway := openWeb(t, strict)
	strictGateway.until(http.StatusOK, "/ready", "")
	needs.until(http.StatusOK, "/readyz", "")

	s.Kill()
	server.want(http.StatusOK, `{"policy":"own","key":"k"}`)
	server.want(http.StatusServiceUnavailable, `{"policy":"closed","key":"k"}`)
	if code, body := gateway.status("/closed", ""); code != http.StatusServiceUnavailable {
		t.Errorf("a route with failure deny: %d %s, want 503", code, body)
	}
	time.Sleep(20 * time.Millisecond) // longer than a check's result is cached
	for _, c := range []struct {
		name, path string
		w          *web
		want       int
	}{
		{"by default", "/readyz", server, http.StatusOK},
		{"--ready-needs-store", "/readyz", needs, http.StatusServiceUnavailable},
		{"the gateway", "/ready", gateway, http.StatusOK},
		{"the gateway with ReadyNeedsStore", "/ready", strictGateway, http.StatusServiceUnavailable},
	} {
		if code, body := c.w.status(c.path, ""); code != c.want {
			t.Errorf("%s: %d %s, want %d", c.name, code, body, c.want)
		}
	}
	if got := health(t, server.daemon.GRPCAddr().String()); got != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("gRPC health is %s, want SERVING", got)
	}
}

// serveWeb starts a server with the given flags on a Redis.
func serveWeb(t *testing.T, s *redistest.Server, flags ...string) *web {
	t.Helper()
	address := serve(t, "redis://"+s.Addr(), append([]string{"--resp", "off", "--http", "127.0.0.1:0"}, flags...)...).Options().Addr
	return &web{t: t, url: "http://" + address, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

// health returns the status from the gRPC health service.
func health(t *testing.T, address string) healthpb.HealthCheckResponse_ServingStatus {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answer, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetStatus()
}
