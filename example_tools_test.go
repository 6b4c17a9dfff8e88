package headgate_test

import (
	"context"
	"expvar"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/memstore"
)

// A test can advance a fake clock instead of waiting.
func Example_fakeClock() {
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	limiter := headgate.New(headgate.WithStore(store))
	defer limiter.Close()
	perUser := limiter.Policy("per-user", headgate.SlidingLog{Rate: headgate.PerMinute(1)})
	for _, elapsed := range []time.Duration{0, 59 * time.Second, time.Second} {
		clock.Advance(elapsed)
		d, err := perUser.Allow(context.Background(), "alice")
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(d.Allowed, d.RetryAfter)
	}
	// Output:
	// true 0s
	// false 1s
	// true 0s
}

// An observer counts the decisions. In a server, expvar.NewMap publishes the counters.
func Example_metrics() {
	metrics := new(expvar.Map).Init()
	limiter := headgate.New(headgate.WithObserver(func(_ context.Context, r headgate.Result) {
		switch { // + copies r.Policy, which is valid only during the call
		case r.Err != nil:
			metrics.Add(r.Policy+" error", 1)
		case r.Decision.Allowed:
			metrics.Add(r.Policy+" allowed", 1)
		default:
			metrics.Add(r.Policy+" denied", 1)
		}
	}))
	defer limiter.Close()
	perUser := limiter.Policy("per-user", headgate.FixedWindow{Rate: headgate.PerHour(2)})
	for range 3 {
		if _, err := perUser.Allow(context.Background(), "alice"); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(metrics)
	// Output:
	// {"per-user allowed": 2, "per-user denied": 1}
}

// A batch decides many requests in one call: on Redis, in one round trip.
func Example_batch() {
	limiter := headgate.New()
	defer limiter.Close()
	perUser := limiter.Policy("per-user", headgate.FixedWindow{Rate: headgate.PerHour(5)})
	results := limiter.AllowEach(context.Background(),
		headgate.Charge{Policy: perUser, Key: "alice", Units: 3}, headgate.Charge{Policy: perUser, Key: "alice", Units: 3}, headgate.Charge{Policy: perUser, Key: "bob", Units: 3})
	for i, r := range results { // in the order of the requests
		if r.Err != nil {
			fmt.Println(r.Err)
			return
		}
		fmt.Println(i, r.Decision.Allowed, r.Decision.Remaining)
	}
	// Output:
	// 0 true 2
	// 1 false 2
	// 2 true 2
}

// The limit is two log-in attempts an hour. A successful log-in resets the counter.
func Example_reset() {
	limiter := headgate.New()
	defer limiter.Close()
	ctx := context.Background()
	logins := limiter.Policy("login", headgate.FixedWindow{Rate: headgate.PerHour(2)})
	for _, password := range []string{"wrong", "right", "wrong", "wrong", "right"} {
		d, err := logins.Allow(ctx, "alice")
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(password, d.Allowed)
		if d.Allowed && password == "right" {
			if _, err := logins.Reset(ctx, "alice"); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	// Output:
	// wrong true
	// right true
	// wrong true
	// wrong true
	// right false
}

// away is a store whose calls all fail, like a Redis that is unavailable.
type away struct{}

func (away) Do(_ context.Context, _ []engine.Op, results []engine.Answer) {
	for i := range results {
		results[i].Err = headgate.ErrStoreUnavailable
	}
}

func (away) Close() error { return nil }

// While the store is unavailable, a handler answers 503 or, with FailOpen, serves the request.
func Example_storeAway() {
	newHandler := func(limiter *headgate.Limiter, options ...httplimit.Option) http.Handler {
		perIP := limiter.Policy("per-ip", headgate.TokenBucket{Rate: headgate.PerMinute(60)})
		hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
		return httplimit.New(perIP, httplimit.ByIP(), options...)(hello)
	}
	limiter := headgate.New(headgate.WithStore(away{}))
	defer limiter.Close()
	for _, handler := range []http.Handler{newHandler(limiter), newHandler(limiter, httplimit.WithError(httplimit.FailOpen))} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		fmt.Println(w.Code)
	}
	// Output:
	// 503
	// 200
}
