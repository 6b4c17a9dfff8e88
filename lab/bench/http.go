package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/didip/tollbooth/v7"
	tollboothlimiter "github.com/didip/tollbooth/v7/limiter"
	"github.com/go-chi/httprate"
	"github.com/throttled/throttled/v2"
	throttledstore "github.com/throttled/throttled/v2/store/memstore"
	"github.com/ulule/limiter/v3"
	ululehttp "github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	ululestore "github.com/ulule/limiter/v3/drivers/store/memory"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/internal/rule"
)

// manyPerDay is a limit, in requests per day, that no address reaches in this benchmark. A unit takes 8.6 s to refill,
// so that each address's state lasts from one request to the next.
const manyPerDay = 10_000

// middleware compares middlewares that limit by the client's address. Each wraps an empty handler.
func middleware(_ context.Context, s settings) ([]table, error) {
	addresses := make([]string, 10_000)
	for i := range addresses {
		addresses[i] = fmt.Sprintf("10.1.%d.%d:40000", i/256, i%256)
	}
	contenders, err := middlewares()
	if err != nil {
		return nil, err
	}
	defer finish(contenders)
	row := "net/http middleware around an empty handler, 10 000 addresses"
	samples, err := interleave(contenders, load{row: row, callers: 2, keys: addresses}, s)
	if err != nil {
		return nil, err
	}
	var rivals []string
	for _, c := range contenders[1 : len(contenders)-1] {
		rivals = append(rivals, c.name)
	}
	return []table{
		{
			title: row, unit: "ns an admitted request", lower: true, reach: 0.7, beside: rivals,
			lines: compare(contenders, samples, nanoseconds),
			note:  "Every middleware writes its rate-limit headers. The last row is the overhead of the measurement itself.",
		},
		{
			title: row + ": memory", unit: "allocations", lower: true, beside: rivals,
			lines: compare(contenders, samples, func(s sample) float64 { return s.mallocs }),
		},
	}, nil
}

// middlewares returns Headgate's middleware, the others, and the handler without middleware.
func middlewares() ([]contender, error) {
	headgates := headgate.New()
	perIP := headgates.PolicyOf("per-ip", rule.TokenBucket(rule.PerDay(manyPerDay)))
	gcra, err := throttledGCRAOf(throttled.PerDay(manyPerDay), manyPerDay-1)
	if err != nil {
		return nil, err
	}
	byAddress := &throttled.HTTPRateLimiterCtx{RateLimiter: gcra, VaryBy: &throttled.VaryBy{RemoteAddr: true}}
	const day = 24 * time.Hour
	buckets := tollbooth.NewLimiter(manyPerDay/day.Seconds(), &tollboothlimiter.ExpirableOptions{DefaultExpirationTTL: day})
	buckets.SetBurst(manyPerDay).SetIPLookups([]string{"RemoteAddr"})
	windows := limiter.New(ululestore.NewStore(), limiter.Rate{Period: day, Limit: manyPerDay})
	around := []struct {
		name string
		wrap func(http.Handler) http.Handler
	}{
		{"headgate", httplimit.New(perIP, httplimit.ByIP())},
		{"httprate", httprate.LimitBy(manyPerDay, day, peer)},
		{"throttled", byAddress.RateLimit},
		{"ulule/limiter", ululehttp.NewMiddleware(windows).Handler},
		{"tollbooth", func(h http.Handler) http.Handler { return tollbooth.LimitHandler(buckets, h) }},
		{"the handler alone", func(h http.Handler) http.Handler { return h }},
	}
	contenders := make([]contender, len(around))
	for i, a := range around {
		contenders[i] = contender{name: a.name, ours: i == 0, ask: sender(a.wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))}
	}
	contenders[0].done = func() { _ = headgates.Close() }
	return contenders, nil
}

// peer returns the key for httprate, whose own function for the peer's address is deprecated.
func peer(r *http.Request) (string, error) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	return httprate.CanonicalizeIP(host), err
}

func throttledGCRAOf(rate throttled.Rate, burst int) (*throttled.GCRARateLimiterCtx, error) {
	store, err := throttledstore.NewCtx(0)
	if err != nil {
		return nil, err
	}
	return throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: rate, MaxBurst: burst})
}

// exchange is a request and its response. Exchanges are reused, because a real server would have to allocate both in
// any case.
type exchange struct {
	request *http.Request
	header  http.Header
	status  int
}

func (e *exchange) Header() http.Header         { return e.header }
func (e *exchange) Write(p []byte) (int, error) { return len(p), nil }
func (e *exchange) WriteHeader(status int)      { e.status = status }

// sender returns a function that sends requests from an address to a handler.
func sender(h http.Handler) func(address string) error {
	exchanges := sync.Pool{New: func() any {
		request, err := http.NewRequest(http.MethodGet, "http://localhost/", http.NoBody)
		if err != nil {
			panic(err) // impossible: the address is valid
		}
		return &exchange{request: request, header: http.Header{}}
	}}
	return func(address string) error {
		e := exchanges.Get().(*exchange)
		defer exchanges.Put(e)
		clear(e.header)
		e.request.RemoteAddr, e.status = address, http.StatusOK
		h.ServeHTTP(e, e.request)
		if e.status != http.StatusOK {
			return fmt.Errorf("status %d", e.status)
		}
		return nil
	}
}
