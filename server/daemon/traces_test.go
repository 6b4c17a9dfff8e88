package daemon_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
	"github.com/headgate/headgate/server/internal/resp/resptest"
	"github.com/headgate/headgate/server/internal/tracing"
	"github.com/headgate/headgate/server/internal/tracing/tracetest"
)

const (
	clientTrace = "0af7651916cd43dd8448eb211c80319c"
	clientSpan  = "b7ad6b7169203331"
	sampled     = "00-" + clientTrace + "-" + clientSpan + "-01"
	notSampled  = "00-" + clientTrace + "-" + clientSpan + "-00"
)

// traced runs a daemon with tracing until the test calls stop.
func traced(t *testing.T, c daemon.Config) (d *daemon.Daemon, stop func()) {
	t.Helper()
	config, err := policy.Parse("p.yaml", []byte("policies: {api: {algorithm: fixed-window, limit: 2, window: 1h}, other: 1/s}"))
	if err != nil {
		t.Fatal(err)
	}
	c.RESP, c.HTTP, c.Base = "127.0.0.1:0", "127.0.0.1:0", config
	c.GRPC = daemon.GRPC{Address: "127.0.0.1:0", EnvoyConfig: envoyDirectory(t, envoyFile)}
	if c.Logger == nil {
		c.Logger = quiet
	}
	if d, err = daemon.New(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx, ctx) }()
	return d, func() {
		t.Helper()
		cancel()
		http.DefaultClient.CloseIdleConnections()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func post(t *testing.T, d *daemon.Daemon, path, traceparent, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+d.HTTPAddr().String()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Request-Id", "r-1") //nolint:canonicalheader // it is canonical: net/http writes it like this
	if traceparent != "" {
		r.Header.Set("Traceparent", traceparent)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
}

// commands sends RESP commands in one write.
func commands(t *testing.T, d *daemon.Daemon, all ...[]string) {
	t.Helper()
	conn, err := net.Dial("tcp", d.RESPAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var data []byte
	for _, words := range all {
		data = resptest.AppendCommand(data, words...)
	}
	if _, err := conn.Write(data); err != nil {
		t.Fatal(err)
	}
	replies := bufio.NewReader(conn)
	for range all {
		if _, err := resptest.Read(replies); err != nil {
			t.Fatal(err)
		}
	}
}

// ask calls Envoy's rate limit service.
func ask(t *testing.T, d *daemon.Daemon, traceparent string) {
	t.Helper()
	c, err := grpc.NewClient(d.GRPCAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", traceparent)
	if _, err := pb.NewRateLimitServiceClient(c).ShouldRateLimit(ctx, envoyRequest()); err != nil {
		t.Fatal(err)
	}
}

// TestSpans checks that each front end creates a span for a request, in the client's trace if there is one. A span
// contains the decision, but no key.
func TestSpans(t *testing.T) {
	for _, protocol := range []string{"http", "grpc"} {
		t.Run(protocol, func(t *testing.T) {
			collector := tracetest.New(t)
			endpoint := collector.HTTP
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20secret")
			if protocol == "grpc" {
				endpoint = collector.GRPC
			}
			d, stop := traced(t, daemon.Config{Version: "v9", Traces: tracing.Config{Endpoint: endpoint, Ratio: 1}})
			one := `{"policy":"api","key":"ann@example.com"}`
			post(t, d, "/v1/allow", sampled, one)
			post(t, d, "/v1/allow", sampled, `{"requests":[`+one+","+one+`,{"policy":"other","key":"ann@example.com"}]}`)
			post(t, d, "/v1/allow", notSampled, one)
			post(t, d, "/v1/peek", "", `{"policy":"nope","key":"k"}`)
			post(t, d, "/v1/give", "", `{`)
			post(t, d, "/nowhere", sampled, "")
			ask(t, d, sampled)
			ask(t, d, notSampled)
			commands(t, d, []string{"HEADGATE.ALLOW", "api", "bob"}, []string{"CL.THROTTLE", "k", "0", "1", "60", "9"}, []string{"PING"})
			stop() // sends the spans at once
			spans := collector.Spans(t, 7)
			checkSpans(t, spans)
			if about := collector.About(); about["service.name"] != "headgate" || about["service.version"] != "v9" {
				t.Errorf("about the server: %v", about)
			}
			if tokens := collector.Tokens(); slices.Contains(tokens, "") {
				t.Errorf("tokens: %q", tokens)
			}
		})
	}
}

func checkSpans(t *testing.T, spans map[string][]tracetest.Span) {
	t.Helper()
	const envoy = "envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
	for name, want := range map[string][]string{
		"POST /v1/allow": {
			"frontend=http mode=exact outcome=allowed policy=api request_id=r-1 client=true",
			"denied=int_value:1 frontend=http mode=exact outcome=denied request_id=r-1 requests=int_value:3 client=true",
		},
		"POST /v1/peek":     {"frontend=http outcome=invalid policy=(other) request_id=r-1 client=false"},
		"POST /v1/give":     {"outcome=invalid client=false"},
		envoy:               {"frontend=grpc mode=exact outcome=allowed policy=envoy.d.a client=true"},
		"RESP allow":        {"frontend=resp mode=exact outcome=allowed policy=api client=false", "frontend=resp mode=exact outcome=denied policy=(inline) client=false"},
		"POST /v1/reset":    nil,
		"POST /nowhere":     nil,
		"POST /healthcheck": nil,
	} {
		var got []string
		for _, s := range spans[name] {
			text := ""
			for _, a := range []string{"denied", "frontend", "key", "mode", "outcome", "policy", "request_id", "requests"} {
				if v, ok := s.Texts["headgate."+a]; ok && (a != "request_id" || name != envoy) {
					text += a + "=" + v + " "
				}
			}
			client := hex.EncodeToString(s.TraceId) == clientTrace && hex.EncodeToString(s.ParentSpanId) == clientSpan
			got = append(got, text+map[bool]string{true: "client=true", false: "client=false"}[client])
			if s.StartTimeUnixNano == 0 || s.EndTimeUnixNano < s.StartTimeUnixNano {
				t.Errorf("%s: from %d to %d", name, s.StartTimeUnixNano, s.EndTimeUnixNano)
			}
			for _, v := range s.Texts {
				if strings.Contains(v, "ann") || strings.Contains(v, "bob") {
					t.Errorf("%s: the span has a key: %v", name, s.Texts)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
	}
}

// TestSpansWithKeys checks that with TraceKeys a span shows a key in the same form as the log. Bytes that are not
// valid UTF-8 are replaced.
func TestSpansWithKeys(t *testing.T) {
	for whole, want := range map[bool]string{false: "ann@exa…", true: "ann@example.com"} {
		collector := tracetest.New(t)
		d, stop := traced(t, daemon.Config{LogKeys: whole, TraceKeys: true, Traces: tracing.Config{Endpoint: collector.HTTP, Ratio: 1}})
		post(t, d, "/v1/allow", "", `{"policy":"api","key":"ann@example.com"}`)
		commands(t, d, []string{"HEADGATE.ALLOW", "api", "\xff\xfe of bytes"})
		stop()
		if got := collector.Spans(t, 2)["RESP allow"][0].Texts["headgate.key"]; !strings.HasPrefix(got, "\uFFFD") || !utf8.ValidString(got) {
			t.Errorf("a key of bytes: %q", got)
		}
		if got := collector.Spans(t, 2)["POST /v1/allow"][0].Texts["headgate.key"]; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// lockedBuffer is a log that can be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestCollectorAway checks that if the collector is away, requests are answered as usual, one line is logged, and the
// shutdown takes a bounded time.
func TestCollectorAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close() // nothing listens on the collector's address
	var log lockedBuffer
	d, stop := traced(t, daemon.Config{
		Logger: slog.New(slog.NewTextHandler(&log, nil)), Traces: tracing.Config{Endpoint: "grpc://" + l.Addr().String(), Ratio: 1},
	})
	take := []string{"HEADGATE.ALLOW", "api", "k"}
	began := time.Now()
	commands(t, d, slices.Repeat([][]string{take}, 2*tracing.MaxQueue)...) // more than the queue holds
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("%d requests took %v", 2*tracing.MaxQueue, took)
	}
	for end := began.Add(20 * time.Second); !strings.Contains(log.String(), "traces cannot be sent") && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	commands(t, d, take)
	began = time.Now()
	stop()
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the server took %v to stop", took)
	}
	if n := strings.Count(log.String(), "traces cannot be sent"); n != 1 {
		t.Errorf("%d lines:\n%s", n, log.String())
	}
}

// TestSpansOfTheGateway checks that a forwarded request has a span in the client's trace, that the upstream's span is
// its child, and that the span's name and attributes contain neither the path nor the key.
func TestSpansOfTheGateway(t *testing.T) {
	parents := make(chan string, 10)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parents <- r.Header.Get("Traceparent")
		w.WriteHeader(http.StatusTeapot)
	}))
	defer upstream.Close()
	collector := tracetest.New(t)
	c := gatewayTo(t, "policies: {api: {algorithm: fixed-window, limit: 1, window: 1h}}\nroutes: [{match: {path: \"/users/*\"}, key: [{header: X-User}], policies: [api]}]", upstream.URL)
	c.Drain, c.Traces, c.Logger = 0, tracing.Config{Endpoint: collector.HTTP, Ratio: 1}, quiet
	d, err := daemon.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx, ctx) }()
	getAs(t, d, "/users/ann", sampled)    // passes
	getAs(t, d, "/users/ann", sampled)    // is denied
	getAs(t, d, "/other/ann", "")         // has no route
	getAs(t, d, "/other/ann", notSampled) // has no span
	getAs(t, d, "/readyz", sampled)       // has no span
	cancel()
	http.DefaultClient.CloseIdleConnections()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	spans := collector.Spans(t, 3)["GET"]
	checkGatewaySpans(t, spans)
	for _, want := range []string{parentOf(spans[0]), parentOf(spans[2]), notSampled} {
		if got := <-parents; got != want {
			t.Errorf("the upstream got %q, want %q", got, want)
		}
	}
}

func checkGatewaySpans(t *testing.T, spans []tracetest.Span) {
	t.Helper()
	if len(spans) != 3 {
		t.Fatalf("%d spans", len(spans))
	}
	for i, want := range []string{
		"headgate.frontend=gateway headgate.mode=exact headgate.outcome=allowed headgate.policy=api headgate.upstream=(default) http.response.status_code=int_value:418",
		"headgate.frontend=gateway headgate.mode=exact headgate.outcome=denied headgate.policy=api headgate.upstream=(default) http.response.status_code=int_value:429",
		"http.response.status_code=int_value:418",
	} {
		span, got := spans[i], ""
		for _, name := range slices.Sorted(maps.Keys(span.Texts)) {
			if name != "headgate.request_id" && name != "http.request.method" {
				got += " " + name + "=" + span.Texts[name]
			}
			if strings.Contains(span.Texts[name], "ann") {
				t.Errorf("%s=%s", name, span.Texts[name])
			}
		}
		if got[1:] != want {
			t.Errorf("span %d:\n got%s\nwant %s", i, got, want)
		}
		if i < 2 && (hex.EncodeToString(span.TraceId) != clientTrace || hex.EncodeToString(span.ParentSpanId) != clientSpan) {
			t.Errorf("span %d is not in the client's trace", i)
		}
	}
}

// getAs sends a request with ann's key.
func getAs(t *testing.T, d *daemon.Daemon, path, traceparent string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+d.HTTPAddr().String()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-User", "ann")
	if traceparent != "" {
		r.Header.Set("Traceparent", traceparent)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
}

// parentOf returns the traceparent for children of a span.
func parentOf(s tracetest.Span) string {
	return "00-" + hex.EncodeToString(s.TraceId) + "-" + hex.EncodeToString(s.SpanId) + "-01"
}
