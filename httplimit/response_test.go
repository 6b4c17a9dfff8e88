package httplimit_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/internal/rule"
)

// answers is a handler that responds with the status and the number of bytes given in the query.
var answers = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	var status, bytes int
	if _, err := fmt.Sscanf(r.URL.RawQuery, "%d,%d", &status, &bytes); err != nil {
		panic(http.ErrAbortHandler)
	}
	if status != 0 {
		w.WriteHeader(status)
	}
	_, _ = io.WriteString(w, strings.Repeat("x", bytes))
})

// spent returns the number of units spent under a policy.
func spent(t *testing.T, p *headgate.Policy) int64 {
	t.Helper()
	d, err := p.Peek(t.Context(), "all", 0)
	if err != nil {
		t.Fatal(err)
	}
	return d.Limit - d.Remaining
}

// Each rule keeps the charge for the responses that it counts, even if a handler panics.
func TestFinalCostOfResponses(t *testing.T) {
	for _, c := range []struct {
		name  string
		rule  httplimit.FinalCost
		query string
		want  int64
	}{
		{"only failures", httplimit.OnlyFailures, "200,0", 0},
		{"only failures", httplimit.OnlyFailures, "401,0", 3},
		{"only failures", httplimit.OnlyFailures, "500,0", 0},
		{"only failures", httplimit.OnlyFailures, "panic", 0},
		{"only 401", httplimit.OnlyStatus(401, 403), "401,0", 3},
		{"only 401", httplimit.OnlyStatus(401, 403), "404,0", 0},
		{"except 304", httplimit.ExceptStatus(304), "304,0", 0},
		{"except 304", httplimit.ExceptStatus(304), "0,0", 3}, // the status is 200 if the handler writes none
		{"except 304", httplimit.ExceptStatus(304), "panic", 3},
		{"bytes", httplimit.BytesWritten, "200,70", 70},
		{"bytes", httplimit.BytesWritten, "200,0", 0},
		{"bytes beyond the limit", httplimit.BytesWritten, "200,5000", 100},
		{"negative", func(*http.Request, httplimit.Response) int64 { return -5 }, "200,0", 3}, // such as a difference (regression: bug 262)
	} {
		t.Run(c.name+" "+c.query, func(t *testing.T) {
			p := limiter(t).PolicyOf("p", rule.TokenBucket(rule.PerHour(100)))
			three := func(*http.Request) int64 { return 3 }
			h := httplimit.New(p, httplimit.All(), httplimit.WithCost(three), httplimit.WithFinalCost(c.rule))(answers)
			func() {
				defer func() { _ = recover() }()
				get(h, func(r *http.Request) { r.URL.RawQuery = c.query })
			}()
			if got := spent(t, p); got != c.want {
				t.Errorf("spent %d, want %d", got, c.want)
			}
		})
	}
}

// A HEAD request is not charged for its body, because no body is sent.
func TestHEADHasNoBytes(t *testing.T) {
	p := limiter(t).PolicyOf("bytes", rule.TokenBucket(rule.PerHour(100)))
	h := httplimit.New(p, httplimit.All(), httplimit.WithFinalCost(httplimit.BytesWritten))(answers)
	for _, c := range []struct {
		method string
		want   int64
	}{{http.MethodHead, 0}, {http.MethodGet, 70}} {
		get(h, func(r *http.Request) { r.Method, r.URL.RawQuery = c.method, "200,70" })
		if got := spent(t, p); got != c.want {
			t.Errorf("after %s: %d spent, want %d", c.method, got, c.want)
		}
	}
}

// If a limit allows debt, a download that exceeds it is charged in full, as a debt. The client is charged even if it
// disconnects before the end.
func TestFinalCostIsOwedAndSurvivesTheClient(t *testing.T) {
	p := limiter(t).PolicyOf("bytes", rule.TokenBucket(rule.PerSecond(1000), rule.AllowDebt(1<<20)))
	h := httplimit.New(p, httplimit.All(), httplimit.WithFinalCost(httplimit.BytesWritten))
	ctx, gone := context.WithCancel(t.Context())
	leaving := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answers(w, r); gone() })
	get(h(leaving), func(r *http.Request) { r.URL.RawQuery = "200,5000"; *r = *r.WithContext(ctx) })
	w := get(h(answers), func(r *http.Request) { r.URL.RawQuery = "200,1" })
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "5" {
		t.Errorf("after 5000 bytes of 1000 a second: %d %v", w.Code, w.Header())
	}
}

// A request without a known plan uses New's policy, and each policy has its own counters. Without any policy the
// response is a 503.
func TestPolicyByPlan(t *testing.T) {
	l := limiter(t)
	free, paid := l.PolicyOf("free", rule.FixedWindow(rule.PerDay(1))), l.PolicyOf("paid", rule.FixedWindow(rule.PerDay(5)))
	plan := func(r *http.Request) *headgate.Policy {
		if r.Header.Get("X-Plan") == "paid" {
			return paid
		}
		return nil
	}
	h := httplimit.New(free, httplimit.All(), httplimit.WithPolicy(plan))(hello)
	for i, c := range []struct {
		plan, want string
	}{{"paid", `"paid";r=4`}, {"free", `"free";r=0`}, {"paid", `"paid";r=3`}} {
		if w := get(h, with("X-Plan", c.plan)); w.Code != 200 || !strings.HasPrefix(rateLimit(w), c.want) {
			t.Errorf("request %d: %d %s, want %s", i, w.Code, rateLimit(w), c.want)
		}
	}
	// A mistake of the program, which FailOpen does not serve.
	for _, more := range [][]httplimit.Option{nil, {httplimit.WithError(httplimit.FailOpen)}} {
		nothing := httplimit.New(nil, httplimit.All(), append(more, httplimit.WithPolicy(plan))...)(hello)
		if w := get(nothing); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "no policy") {
			t.Errorf("without any policy: %d %s", w.Code, w.Body)
		}
	}
}

// Regression: bug 29. FailOpen serves requests while the store is away, but not a request that omits its key.
func TestFailOpenNeedsAKey(t *testing.T) {
	p := headgate.New(headgate.WithStore(away{})).PolicyOf("p", rule.TokenBucket(rule.PerSecond(1)))
	h := httplimit.New(p, httplimit.ByHeader("X-User"), httplimit.WithError(httplimit.FailOpen))(hello)
	for name, want := range map[string]int{"alice": 200, "": 400, strings.Repeat("x", engine.MaxKeyBytes+1): 400} {
		if w := get(h, with("X-User", name)); w.Code != want {
			t.Errorf("a user of %d bytes: %d, want %d", len(name), w.Code, want)
		}
	}
}

// Regression: bug 36. If the store does not answer, settling neither panics nor changes the response.
func TestSettleWithoutStore(t *testing.T) {
	p := headgate.New(headgate.WithStore(&once{Store: store(t)})).PolicyOf("p", rule.TokenBucket(rule.PerSecond(9)))
	h := httplimit.New(p, httplimit.All(), httplimit.WithFinalCost(httplimit.BytesWritten))(answers)
	for i, want := range []int{200, 503} {
		if w := get(h, func(r *http.Request) { r.URL.RawQuery = "200,3" }); w.Code != want {
			t.Errorf("request %d: %d, want %d", i, w.Code, want)
		}
	}
}

// once is a store that answers only its first call.
type once struct {
	engine.Store
	calls int
}

func (o *once) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	if o.calls++; o.calls > 1 {
		away{}.Do(ctx, ops, results)
		return
	}
	o.Store.Do(ctx, ops, results)
}

// A pacer spaces requests out instead of denying them. A client that leaves while it waits is not served.
func TestPacerDelaysRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := headgate.New()
		defer l.Close()
		p := l.PolicyOf("p", rule.Pacer(rule.PerSecond(10), rule.MaxWait(time.Second)))
		served := 0
		h := httplimit.New(p, httplimit.All())(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
		start := time.Now()
		get(h)
		get(h)
		if waited := time.Since(start); waited != 100*time.Millisecond {
			t.Errorf("the second request was served after %s", waited)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if w := get(h, func(r *http.Request) { *r = *r.WithContext(ctx) }); w.Code != http.StatusServiceUnavailable || served != 2 {
			t.Errorf("a client that left: %d, served %d", w.Code, served)
		}
	})
}

// An adapter without http.Handler gets the same responses from Admit and Settle.
func TestAdmitAndSettle(t *testing.T) {
	p := limiter(t).PolicyOf("p", rule.FixedWindow(rule.PerHour(1)))
	m := httplimit.NewMiddleware(p, httplimit.ByHeader("X-User"), httplimit.WithFinalCost(httplimit.OnlyFailures))
	admit := func(user string, status int) (int, bool) {
		r, w := httptest.NewRequest(http.MethodGet, "/", http.NoBody), httptest.NewRecorder()
		r.Header.Set("X-User", user)
		c, ok := m.Admit(w, r)
		m.Settle(r, &c, httplimit.Response{Status: status})
		return w.Code, ok
	}
	for i, c := range []struct {
		user         string
		status, want int
		ok           bool
	}{{"a", 200, 200, true}, {"a", 401, 200, true}, {"a", 200, 429, false}, {"b", 200, 200, true}, {"", 200, 400, false}} {
		if code, ok := admit(c.user, c.status); code != c.want || ok != c.ok {
			t.Errorf("request %d: %d, %t; want %d, %t", i, code, ok, c.want, c.ok)
		}
	}
	open := httplimit.NewMiddleware(headgate.New(headgate.WithStore(away{})).PolicyOf("p", rule.TokenBucket(rule.PerSecond(1))), httplimit.All(), httplimit.WithError(httplimit.FailOpen))
	r, w := httptest.NewRequest(http.MethodGet, "/", http.NoBody), httptest.NewRecorder()
	c, ok := open.Admit(w, r)
	open.Settle(r, &c, httplimit.Response{Status: 200})
	if !ok || w.Body.Len() > 0 {
		t.Errorf("fail open: %t, %s", ok, w.Body)
	}
}

// serve runs a server with the handler, wrapped in middleware. The middleware's final-cost function sends each
// response to the returned channel.
func serve(t *testing.T, handler http.HandlerFunc) (*httptest.Server, <-chan httplimit.Response) {
	t.Helper()
	responses := make(chan httplimit.Response, 1)
	count := func(_ *http.Request, o httplimit.Response) int64 { responses <- o; return o.Charged }
	p := limiter(t).PolicyOf("p", rule.TokenBucket(rule.PerSecond(100)))
	server := httptest.NewServer(httplimit.New(p, httplimit.All(), httplimit.WithFinalCost(count))(handler))
	t.Cleanup(server.Close)
	return server, responses
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// With a rule, a handler on a real server can still flush, send a file and hijack the connection, and the bytes are
// counted.
func TestRuleKeepsFlusherReaderFromAndHijacker(t *testing.T) {
	t.Run("flush", func(t *testing.T) {
		flushed := make(chan struct{})
		server, responses := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "one")
			w.(http.Flusher).Flush()
			<-flushed
			fmt.Fprint(w, "two")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Error(err)
			}
		})
		answer, err := http.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		first := make([]byte, 3)
		if _, err := io.ReadFull(answer.Body, first); err != nil || string(first) != "one" {
			t.Errorf("%q %v", first, err)
		}
		close(flushed)
		rest, err := io.ReadAll(answer.Body)
		if o := <-responses; string(rest) != "two" || err != nil || o.Bytes != 6 || o.Status != 200 {
			t.Errorf("%q %v %+v", rest, err, o)
		}
	})
	t.Run("a file", func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(name, make([]byte, 100_000), 0o600); err != nil {
			t.Fatal(err)
		}
		server, responses := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if _, ok := w.(io.ReaderFrom); !ok {
				t.Errorf("%T has no ReadFrom", w)
			}
			http.ServeFile(w, r, name)
		})
		if got, o := len(fetch(t, server.URL)), <-responses; got != 100_000 || o.Bytes != 100_000 {
			t.Errorf("%d bytes, %+v", got, o)
		}
	})
	t.Run("hijack", func(t *testing.T) {
		server, responses := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, buffer, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = buffer.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
			_ = buffer.Flush()
		})
		if got, o := fetch(t, server.URL), <-responses; got != "hi" || o.Status != http.StatusSwitchingProtocols {
			t.Errorf("%q, %+v", got, o)
		}
	})
}

// These types are combined into writers with every set of capabilities.
type (
	flushes struct{}
	hijacks struct{}
	reads   struct{}
)

func (flushes) Flush() {}
func (hijacks) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return nil, nil, errors.New("not here")
}
func (reads) ReadFrom(from io.Reader) (int64, error) { return io.Copy(io.Discard, from) }

// The handler's writer has exactly the capabilities of the server's writer.
func TestRuleAddsNothingToTheWriter(t *testing.T) {
	type w = http.ResponseWriter
	bare := &discard{header: http.Header{}}
	for _, server := range []w{
		bare,
		struct {
			w
			flushes
		}{w: bare},
		struct {
			w
			hijacks
		}{w: bare},
		struct {
			w
			reads
		}{w: bare},
		struct {
			w
			flushes
			hijacks
		}{w: bare},
		struct {
			w
			flushes
			reads
		}{w: bare},
		struct {
			w
			hijacks
			reads
		}{w: bare},
		struct {
			w
			flushes
			hijacks
			reads
		}{w: bare},
	} {
		can := func(w http.ResponseWriter) string {
			_, f := w.(http.Flusher)
			_, h := w.(http.Hijacker)
			_, r := w.(io.ReaderFrom)
			return fmt.Sprint(f, h, r)
		}
		got := ""
		var o httplimit.Response
		count := func(_ *http.Request, response httplimit.Response) int64 { o = response; return 1 }
		p := limiter(t).PolicyOf("p", rule.TokenBucket(rule.PerSecond(100)))
		h := httplimit.New(p, httplimit.All(), httplimit.WithFinalCost(count))(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			got = can(w)
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusTeapot)
			if h, ok := w.(http.Hijacker); ok {
				if _, _, err := h.Hijack(); err == nil {
					t.Error("hijacked")
				}
			}
			if from, ok := w.(io.ReaderFrom); ok {
				_, _ = from.ReadFrom(strings.NewReader("four"))
			}
		}))
		h.ServeHTTP(server, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		want := can(server)
		if got != want || o.Status != http.StatusTeapot || o.Bytes != 4*int64(strings.Count(want[len(want)-4:], "true")) {
			t.Errorf("the server's writer can %s, the handler's %s; response %+v", want, got, o)
		}
	}
}

// If a limit has several windows, its reset is the reset of the binding window, as in the server's headers for the
// same policy. It used to be the reset of the longest window, t=3600 (regression: bug 71).
func TestResetOfTheBindingWindow(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	policy := limiter.PolicyOf("reply", rule.SlidingLog(rule.PerSecond(2), rule.And(rule.PerHour(50))))
	handler := httplimit.New(policy, httplimit.ByIP())(answers)
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/?200,0", nil))
	if got := rateLimit(answer); got != `"reply";r=1;t=1` {
		t.Errorf("RateLimit: %s", got)
	}
}

// The headers contain all limits of a policy, with the binding limit first, as in the server's headers.
func TestHeadersOfSeveralLimits(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	policy := limiter.PolicyOf("plan", rule.FixedWindow(rule.PerHour(50), rule.Named("hour")), engine.NoLimit(), rule.SlidingLog(rule.PerSecond(2)))
	answer := httptest.NewRecorder()
	httplimit.New(policy, httplimit.ByIP())(answers).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/?200,0", nil))
	want := `"plan.3";q=2;w=1, "plan.hour";q=50;w=3600`
	if got := answer.Header().Get("Ratelimit-Policy"); got != want {
		t.Errorf("the policies are %s, want %s", got, want)
	}
}
