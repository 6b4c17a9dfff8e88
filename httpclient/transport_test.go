package httpclient_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httpclient"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/internal/rule"
)

// requests is the number of requests in TestClientOnRealSockets.
var requests = flag.Int("requests", 2000, "requests of TestClientOnRealSockets")

// handlerTransport serves requests with a handler. The latency in each direction is 1 to 20 ms, or up to longest.
type handlerTransport struct {
	handler http.Handler
	longest time.Duration
	denied  atomic.Int64
	asked   atomic.Int64
	most    atomic.Int64
	now     atomic.Int64
}

func (h *handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if n := h.now.Add(1); n > h.most.Load() {
		h.most.Store(n)
	}
	defer h.now.Add(-1)
	h.asked.Add(1)
	if r.Body != nil {
		defer r.Body.Close()
	}
	if err := h.pause(r.Context()); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, r)
	if w.Code == http.StatusTooManyRequests {
		h.denied.Add(1)
	}
	if err := h.pause(r.Context()); err != nil {
		return nil, err
	}
	answer := w.Result()
	for name, values := range w.Header() { // as a client would receive them
		answer.Header[http.CanonicalHeaderKey(name)] = values
	}
	return answer, nil
}

func (h *handlerTransport) pause(ctx context.Context) error {
	select {
	case <-time.After(time.Millisecond + rand.N(max(h.longest, 20*time.Millisecond))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func get(ctx context.Context, client *http.Client) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://server/", http.NoBody)
	if err != nil {
		return 0, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, err
}

// crowd sends n requests from several goroutines, and returns how long they took.
func crowd(t *testing.T, client *http.Client, callers, n int) time.Duration {
	t.Helper()
	start := time.Now()
	var left atomic.Int64
	left.Store(int64(n))
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if code, err := get(t.Context(), client); err != nil || code != http.StatusOK {
					t.Errorf("%d %v", code, err)
					return
				}
			}
		})
	}
	group.Wait()
	return time.Since(start)
}

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })

// If a server has no other clients, the client is never denied, with any limit, any headers and any number of
// concurrent requests. The requests take only slightly longer than the limit requires.
func TestClientIsNeverDenied(t *testing.T) {
	for _, c := range []struct {
		name    string
		limit   engine.Limit
		style   httplimit.Style
		callers int
		n       int
		longest time.Duration
		latency time.Duration
	}{
		{"1000 a second", rule.TokenBucket(rule.PerSecond(1000)), httplimit.Draft, 50, 4000, 6 * time.Second, 0},
		{"of an older draft", rule.TokenBucket(rule.PerSecond(1000)), httplimit.Draft03, 50, 2000, 3 * time.Second, 0},
		{"with older headers", rule.TokenBucket(rule.PerSecond(1000)), httplimit.XRateLimit, 50, 2000, 3 * time.Second, 0},
		{"one caller", rule.TokenBucket(rule.PerSecond(20)), httplimit.Draft, 1, 200, 20 * time.Second, 0},
		{"a fixed window", rule.FixedWindow(rule.PerSecond(100)), httplimit.Draft, 20, 1000, 24 * time.Second, 0},
		{"a window of a minute", rule.FixedWindow(rule.PerMinute(100)), httplimit.Draft, 20, 500, 6 * time.Minute, 0},
		{"a sliding window", rule.SlidingWindow(rule.PerSecond(100)), httplimit.Draft, 20, 1000, 30 * time.Second, 0},
		{"a sliding log", rule.SlidingLog(rule.PerSecond(100)), httplimit.Draft, 20, 1000, 30 * time.Second, 0},
		{"more callers than the limit", rule.FixedWindow(rule.PerSecond(10)), httplimit.Draft, 100, 200, 60 * time.Second, 0},
		{"far away", rule.FixedWindow(rule.PerSecond(10)), httplimit.Draft, 40, 200, 120 * time.Second, 700 * time.Millisecond},
		{"far away, a bucket", rule.TokenBucket(rule.PerSecond(10)), httplimit.Draft, 40, 200, 120 * time.Second, 700 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := headgate.New()
				defer limiter.Close()
				server := &handlerTransport{longest: c.latency, handler: httplimit.New(limiter.PolicyOf("p", c.limit), httplimit.All(), httplimit.WithHeaders(c.style))(hello)}
				client := &http.Client{Transport: httpclient.New(server, httpclient.WithMaxWait(10*time.Minute))}
				took := crowd(t, client, c.callers, c.n)
				t.Logf("%d requests in %s, at most %d at a time, %d denied", c.n, took, server.most.Load(), server.denied.Load())
				if server.denied.Load() > 0 || server.asked.Load() != int64(c.n) || took > c.longest {
					t.Errorf("%d of %d denied, %s", server.denied.Load(), server.asked.Load(), took)
				}
			})
		})
	}
}

// TestClientOnRealSockets is like TestClientIsNeverDenied, but uses real sockets and the real clock. With
// -requests=10000 it takes ten seconds.
func TestClientOnRealSockets(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	var denied atomic.Int64
	deny := func(w http.ResponseWriter, _ *http.Request, _ headgate.Decision) {
		denied.Add(1)
		w.WriteHeader(http.StatusTooManyRequests)
	}
	server := httptest.NewServer(httplimit.New(limiter.PolicyOf("p", rule.TokenBucket(rule.PerSecond(1000))), httplimit.ByIP(), httplimit.WithDenied(deny))(hello))
	defer server.Close()
	base := &http.Transport{MaxIdleConnsPerHost: 50}
	transport := httpclient.New(base)
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: rewrite{transport, strings.TrimPrefix(server.URL, "http://")}}
	took := crowd(t, client, 50, *requests)
	t.Logf("%d requests in %s", *requests, took)
	if denied.Load() > 0 {
		t.Errorf("%d denied", denied.Load())
	}
}

// rewrite sends requests to another host.
type rewrite struct {
	base http.RoundTripper
	host string
}

func (rw rewrite) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = rw.host
	return rw.base.RoundTrip(r)
}

// script answers the nth request with its nth step. After the last step, it repeats that step.
type script struct {
	steps []func(http.ResponseWriter, *http.Request)
	mu    sync.Mutex
	n     int
	at    []time.Time
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	step := s.steps[min(s.n, len(s.steps)-1)]
	s.n++
	s.at = append(s.at, time.Now())
	s.mu.Unlock()
	step(w, r)
}

func answering(status int, headers ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
	}
}

// A denied request is retried after Retry-After if it is idempotent and its body can be recreated. Otherwise the
// caller gets the denial.
func TestRetries(t *testing.T) {
	type edit func(*http.Request)
	nothing := func(*http.Request) {}
	for _, c := range []struct {
		name    string
		method  string
		body    io.Reader
		edit    edit
		status  int
		headers []string
		want    int // status
		asked   int
		wait    time.Duration
	}{
		{"GET", "GET", nil, nothing, 429, []string{"Retry-After", "3"}, 200, 2, 3 * time.Second},
		{"a date", "GET", nil, nothing, 429, []string{"Retry-After", "Sat, 01 Jan 2000 00:00:07 GMT"}, 200, 2, 7 * time.Second},
		{"no Retry-After", "GET", nil, nothing, 429, nil, 200, 2, time.Second},
		{"a fraction", "GET", nil, nothing, 429, []string{"Retry-After", "1.5"}, 200, 2, 2 * time.Second},
		{"seconds as 30.0", "GET", nil, nothing, 429, []string{"Retry-After", "30.0"}, 200, 2, 30 * time.Second},
		{"an ISO time", "GET", nil, nothing, 429, []string{"Retry-After", "2000-01-01T00:00:07Z"}, 200, 2, 7 * time.Second},
		{"403 with Retry-After", "GET", nil, nothing, 403, []string{"Retry-After", "3"}, 200, 2, 3 * time.Second},
		{"403 without Retry-After", "GET", nil, nothing, 403, nil, 403, 1, 0},
		{"PUT with a body", "PUT", strings.NewReader("body"), nothing, 503, []string{"Retry-After", "2"}, 200, 2, 2 * time.Second},
		{"503 without Retry-After", "GET", nil, nothing, 503, nil, 503, 1, 0},
		{"POST", "POST", strings.NewReader("body"), nothing, 429, []string{"Retry-After", "3"}, 429, 1, 0},
		{"POST with a key", "POST", strings.NewReader("body"), func(r *http.Request) { r.Header.Set("Idempotency-Key", "7") }, 429, []string{"Retry-After", "3"}, 200, 2, 3 * time.Second},
		{"a body that is gone", "PUT", io.NopCloser(strings.NewReader("body")), nothing, 429, []string{"Retry-After", "3"}, 429, 1, 0},
		{"a wait beyond the longest", "GET", nil, nothing, 429, []string{"Retry-After", "31"}, 429, 1, 0},
		{"an absurd wait", "GET", nil, nothing, 429, []string{"Retry-After", "999999999999999"}, 429, 1, 0},
		{"another error", "GET", nil, nothing, 500, []string{"Retry-After", "3"}, 500, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var bodies []string
				read := func(next func(http.ResponseWriter, *http.Request)) func(http.ResponseWriter, *http.Request) {
					return func(w http.ResponseWriter, r *http.Request) {
						if r.Body != nil {
							body, _ := io.ReadAll(r.Body)
							bodies = append(bodies, string(body))
						}
						next(w, r)
					}
				}
				server := &script{steps: []func(http.ResponseWriter, *http.Request){read(answering(c.status, c.headers...)), read(answering(200))}}
				client := &http.Client{Transport: httpclient.New(&handlerTransport{handler: server})}
				r, err := http.NewRequest(c.method, "http://server/", c.body)
				if err != nil {
					t.Fatal(err)
				}
				c.edit(r)
				start := time.Now()
				answer, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				answer.Body.Close()
				if answer.StatusCode != c.want || server.n != c.asked {
					t.Errorf("status %d after %d requests, want %d after %d", answer.StatusCode, server.n, c.want, c.asked)
				}
				for _, body := range bodies {
					if c.body != nil && body != "body" {
						t.Errorf("a body was %q", body)
					}
				}
				if c.asked < 2 {
					return
				}
				// The extra second covers the simulated network delay. Retry-After in seconds is relative to the
				// arrival of the response; a date is not.
				if waited := server.at[1].Sub(start); waited < c.wait || waited > c.wait+time.Second {
					t.Errorf("sent again after %s, want %s", waited, c.wait)
				}
			})
		})
	}
}

// If a server denies everything, each request is tried 3 times, but all retries together add at most a tenth to the
// client's requests.
func TestRetryBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &script{steps: []func(http.ResponseWriter, *http.Request){answering(429, "Retry-After", "0")}}
		client := &http.Client{Transport: httpclient.New(&handlerTransport{handler: server})}
		if code, err := get(t.Context(), client); code != 429 || err != nil || server.n != 3 {
			t.Errorf("%d %v after %d tries", code, err, server.n)
		}
		for range 200 {
			if code, err := get(t.Context(), client); code != 429 || err != nil {
				t.Errorf("%d %v", code, err)
			}
		}
		if server.n > 201+201/10+14 {
			t.Errorf("%d requests for 201", server.n)
		}
	})
}

// Requests that cannot fit in time are not sent. The error contains the time until a request fits.
func TestTooLongWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &script{steps: []func(http.ResponseWriter, *http.Request){answering(200, "RateLimit", `"hourly";r=0;t=3600`)}}
		client := &http.Client{Transport: httpclient.New(&handlerTransport{handler: server})}
		if code, err := get(t.Context(), client); code != 200 || err != nil {
			t.Fatal(code, err)
		}
		_, err := get(t.Context(), client)
		var limited *httpclient.LimitedError
		if !errors.Is(err, httpclient.ErrLimited) || !errors.As(err, &limited) || limited.RetryAfter < 59*time.Minute || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if _, err := get(soon, client); !errors.Is(err, httpclient.ErrLimited) || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 0 {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		time.Sleep(time.Hour)
		if code, err := get(t.Context(), client); code != 200 || err != nil || server.n != 2 {
			t.Errorf("after the reset: %d %v, %d requests", code, err, server.n)
		}
	})
}

// A request whose caller gives up while it waits is not sent, and does not block other requests.
func TestCancelledWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &script{steps: []func(http.ResponseWriter, *http.Request){answering(200, "RateLimit", `"p";r=0;t=10`), answering(200)}}
		client := &http.Client{Transport: httpclient.New(&handlerTransport{handler: server})}
		if code, err := get(t.Context(), client); code != 200 || err != nil {
			t.Fatal(code, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				if _, err := get(ctx, client); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		group.Go(func() {
			if code, err := get(t.Context(), client); code != 200 || err != nil {
				t.Error(code, err)
			}
		})
		time.Sleep(time.Second)
		cancel()
		group.Wait()
		if server.n != 2 {
			t.Errorf("%d requests were sent", server.n)
		}
	})
}

// Until a slow server's first response, only a few requests are in flight. After that, requests to a server without
// limits are not delayed.
func TestUnknownServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := make(chan struct{})
		slow := func(w http.ResponseWriter, _ *http.Request) { <-first }
		server := &handlerTransport{handler: &script{steps: []func(http.ResponseWriter, *http.Request){slow}}}
		client := &http.Client{Transport: httpclient.New(server)}
		var group sync.WaitGroup
		for range 100 {
			group.Go(func() {
				if code, err := get(t.Context(), client); code != 200 || err != nil {
					t.Error(code, err)
				}
			})
		}
		time.Sleep(900 * time.Millisecond)
		if n := server.now.Load(); n != 8 {
			t.Errorf("%d in flight", n)
		}
		time.Sleep(time.Second) // a silent server delays further requests by at most a second
		if n := server.now.Load(); n != 100 {
			t.Errorf("%d in flight after a second", n)
		}
		close(first)
		group.Wait()
	})
}

// The number of scopes is bounded, and the limits of one scope do not delay another.
func TestScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &script{steps: []func(http.ResponseWriter, *http.Request){answering(200, "RateLimit", `"p";r=0;t=3600`)}}
		byKey := func(r *http.Request) string { return r.Header.Get("X-Key") }
		client := &http.Client{Transport: httpclient.New(&handlerTransport{handler: server}, httpclient.WithScope(byKey), httpclient.WithMaxWait(0))}
		send := func(key string) error {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://server/", http.NoBody)
			if err != nil {
				return err
			}
			r.Header.Set("X-Key", key)
			answer, err := client.Do(r)
			if err == nil {
				answer.Body.Close()
			}
			return err
		}
		if first, second := send("a"), send("a"); first != nil || !errors.Is(second, httpclient.ErrLimited) {
			t.Error(first, second)
		}
		for i := range httpclient.MaxHosts {
			if err := send(fmt.Sprint("other ", i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := send("a"); err != nil {
			t.Errorf("the forgotten scope: %v", err)
		}
	})
}

// Limit sends requests at the rate of the program's policy, separately for each host.
func TestLimitByPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := headgate.New()
		defer limiter.Close()
		server := &script{steps: []func(http.ResponseWriter, *http.Request){answering(200)}}
		pace := limiter.PolicyOf("upstream", rule.Pacer(rule.PerSecond(10), rule.MaxWait(time.Minute)))
		client := &http.Client{Transport: httpclient.Limit(&handlerTransport{handler: server}, pace, nil)}
		if took := crowd(t, client, 5, 21); took < 2*time.Second || took > 2200*time.Millisecond {
			t.Errorf("21 requests at 10 a second took %s", took)
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := get(soon, client); !errors.Is(err, headgate.ErrDenied) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("past the deadline: %v", err)
		}
	})
}

// A program with an invalid policy fails when it creates the transport, and not at each of its requests.
func TestLimitPanicsOnInvalidPolicy(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	defer func() {
		if got, want := recover(), `httpclient: policy "vendor": MaxWait is not set;`; !strings.HasPrefix(fmt.Sprint(got), want) {
			t.Errorf("%v, want a panic with %s", got, want)
		}
	}()
	httpclient.Limit(nil, limiter.Policy("vendor", headgate.Pacer{Rate: headgate.PerSecond(10)}), nil)
}

// A transport that New did not make returns an error, as does a request without a URL; without a scope the host is it, and
// a nil option is named (regression: bug 204).
func TestMistakesOfTheProgram(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, transport := range []*httpclient.Transport{nil, {}} {
		transport.CloseIdleConnections()
		if _, err := transport.RoundTrip(request); !errors.Is(err, headgate.ErrInvalid) { //nolint:bodyclose // there is none
			t.Error(err)
		}
	}
	if _, err := httpclient.New(nil).RoundTrip(&http.Request{}); err == nil || !strings.Contains(err.Error(), "nil Request.URL") { //nolint:bodyclose // there is none
		t.Error(err)
	}
	answer, err := httpclient.New(nil, httpclient.WithScope(nil)).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "an option is nil; accepted: ") {
			t.Errorf("panic %s", got)
		}
	}()
	httpclient.New(nil, nil)
}
