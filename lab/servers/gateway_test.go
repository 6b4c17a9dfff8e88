package servers

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
	"github.com/headgate/headgate/server/daemon"
)

// Two gateways on one Redis share the permits of a route. A request holds its permit for longer than the lease time,
// until its response ends or its client disconnects.
func TestGatewaysSharePermits(t *testing.T) {
	t.Parallel()
	inside, leave := make(chan bool, 10), make(chan bool)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		inside <- true
		select {
		case <-leave:
		case <-r.Context().Done():
		case <-time.After(30 * time.Second): // of a request that should have been denied
		}
	}))
	defer upstream.Close()
	s := redistest.Standalone(t, redistest.Redis)
	base, err := policy.Reader{Gateway: true}.Parse("p.yaml", []byte(`
policies: {renders: {algorithm: concurrency, limit: 2, lease: 2s}, day: {algorithm: fixed-window, limit: 10, window: 1d}}
upstreams: {own: "`+upstream.URL+`"}
routes: [{key: [{const: all}], policies: [renders, day], upstream: own}]
`))
	if err != nil {
		t.Fatal(err)
	}
	start := func() *web {
		return openWeb(t, daemon.Config{Store: "redis://" + s.Addr(), Base: base, Gateway: &daemon.GatewayConfig{DenyUnmatched: true, StallTimeout: time.Minute}})
	}
	one, two := start(), start()
	ended := make(chan int)
	slow := func(ctx context.Context, w *web) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			response, err := w.client.Do(request)
			if err != nil {
				ended <- 0
				return
			}
			_, _ = response.Body.Read(make([]byte, 1))
			response.Body.Close()
			ended <- response.StatusCode
		}()
		select {
		case <-inside:
		case code := <-ended:
			t.Fatalf("the upstream got no request: %d", code)
		}
	}
	denied := func(w *web) {
		t.Helper()
		if code, body := w.status("/", ""); code != http.StatusTooManyRequests {
			t.Errorf("%d %s, want 429", code, body)
		}
	}
	ctx, disconnect := context.WithCancel(t.Context())
	slow(t.Context(), one)
	slow(ctx, two)
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for range 100 { // for several lease times
		denied(one)
		<-ticker.C
	}
	disconnect()
	<-ended
	program, err := open.URL(t.Context(), "redis://"+s.Addr(), open.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	limiter := headgate.New(headgate.WithStore(program.Store))
	defer limiter.Close()
	permits := func(want int64) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			d, err := filelimit.New(base, limiter).Peek(t.Context(), "renders", "all", 1)
			if err == nil && d.Remaining == want {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%d permits are free, %v, want %d", d.Remaining, err, want)
			}
		}
	}
	permits(1)
	slow(t.Context(), two)
	denied(two)
	for range 2 {
		leave <- true
		if code := <-ended; code != http.StatusOK {
			t.Errorf("%d, want 200", code)
		}
	}
	permits(2)
}
