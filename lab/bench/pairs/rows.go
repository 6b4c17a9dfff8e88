package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
)

// decisionKind is a row: one kind of decision, and the number of callers that make it.
type decisionKind struct {
	name    string
	callers int // 1 by default
	redis   bool
	make    func(ctx context.Context, redis string) (work, error)
}

// work holds a row's limiter. ask makes one decision, cpu returns the CPU time used so far, and done closes the limiter.
type work struct {
	ask  func(key string) error
	cpu  func(context.Context) (time.Duration, error)
	done func()
}

// keys are the callers' keys. No row reaches their limits.
var keys = func() []string {
	all := make([]string, 10_000)
	for i := range all {
		all[i] = fmt.Sprintf("user:%015d", i)
	}
	return all
}()

// often is a rate so high that no row reaches it.
var often = rule.PerHour(1_000_000)

// of returns the function that creates the work for one policy with the given limits, in memory.
func of(limits ...engine.Limit) func(context.Context, string) (work, error) {
	return func(ctx context.Context, _ string) (work, error) {
		l := headgate.New()
		p := l.PolicyOf("api", limits...)
		return inMemory(l, func(key string) error { return passes(p.Allow(ctx, key)) }), nil
	}
}

func inMemory(l *headgate.Limiter, ask func(key string) error) work {
	return work{ask: ask, cpu: ownCPU, done: func() { _ = l.Close() }}
}

func passes(d headgate.Decision, err error) error {
	if err != nil || d.Allowed {
		return err
	}
	return errDenied
}

var errDenied = errors.New("denied: the row's limits are too small")

var rows = []decisionKind{
	{name: "token bucket", make: of(rule.TokenBucket(often))},
	{name: "pacer", make: of(rule.Pacer(often, rule.Burst(100_000), rule.MaxQueue(100_000)))},
	{name: "fixed window", make: of(rule.FixedWindow(often))},
	{name: "sliding window", make: of(rule.SlidingWindow(often, rule.Weighted()))},
	{name: "sliding log", make: of(rule.SlidingLog(rule.PerSecond(100_000)))},
	{name: "warm-up", make: of(rule.WarmUp(often, time.Minute, rule.Burst(100_000)))},
	{name: "two limits", make: of(rule.TokenBucket(often), rule.FixedWindow(rule.PerDay(10_000_000)))},
	{name: "a list of one", make: func(ctx context.Context, _ string) (work, error) {
		l := headgate.New()
		p := l.PolicyOf("api", rule.TokenBucket(often))
		return inMemory(l, func(key string) error {
			return passes(l.AllowAll(ctx, headgate.Charge{Policy: p, Key: key, Units: 1}))
		}), nil
	}},
	{name: "a list of four", make: func(ctx context.Context, _ string) (work, error) {
		l := headgate.New()
		var charges [4]headgate.Charge
		for i, limit := range []engine.Limit{
			rule.TokenBucket(often), rule.FixedWindow(often), rule.TokenBucket(often), rule.FixedWindow(often),
		} {
			charges[i] = headgate.Charge{Policy: l.PolicyOf(fmt.Sprintf("p%d", i), limit), Units: 1}
		}
		return inMemory(l, func(key string) error {
			list := charges
			for i := range list {
				list[i].Key = key
			}
			return passes(l.AllowAll(ctx, list[:]...))
		}), nil
	}},
	{name: "reserve and commit", make: func(ctx context.Context, _ string) (work, error) {
		l := headgate.New()
		p := l.PolicyOf("api", rule.TokenBucket(often))
		return inMemory(l, func(key string) error {
			r, d, err := p.Reserve(ctx, key, 2)
			if err := passes(d, err); err != nil {
				return err
			}
			_, err = r.Commit(ctx, 1)
			return err
		}), nil
	}},
	{name: "policy of a file", make: func(ctx context.Context, _ string) (work, error) {
		l, byFile, err := ofFile()
		if err != nil {
			return work{}, err
		}
		return inMemory(l, func(key string) error { return passes(byFile.Allow(ctx, "api", key)) }), nil
	}},
	{name: "route of a file, with headers", make: func(context.Context, string) (work, error) {
		l, byFile, err := ofFile()
		if err != nil {
			return work{}, err
		}
		handler := httplimit.By(byFile)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		request, err := http.NewRequest(http.MethodGet, "http://localhost/", http.NoBody)
		if err != nil {
			return work{}, err
		}
		return inMemory(l, sender(handler, request)), nil
	}},
	{name: "middleware", make: func(context.Context, string) (work, error) {
		l := headgate.New()
		handler := httplimit.New(l.PolicyOf("api", rule.TokenBucket(often)), httplimit.ByHeader("X-Key"))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		request, err := http.NewRequest(http.MethodGet, "http://localhost/", http.NoBody)
		if err != nil {
			return work{}, err
		}
		return inMemory(l, sender(handler, request)), nil
	}},
	{name: "Redis, 64 callers: this process", callers: 64, redis: true, make: onRedis(false)},
	{name: "Redis, 64 callers: Redis", callers: 64, redis: true, make: onRedis(true)},
}

func ofFile() (*headgate.Limiter, *filelimit.Limiter, error) {
	config, err := policy.Parse("policies.yaml", []byte(strings.Join([]string{
		"policies:", "  api: {algorithm: token-bucket, rate: 1000000/1h}", "routes:", "  - policies: [api]", "    key: [{header: X-Key}]", "",
	}, "\n")))
	if err != nil {
		return nil, nil, err
	}
	l := headgate.New()
	return l, filelimit.New(config, l), nil
}

// sender returns a function that sends a request with a given key to a handler.
func sender(h http.Handler, request *http.Request) func(key string) error {
	answer := &statusRecorder{header: http.Header{}}
	return func(key string) error {
		clear(answer.header)
		request.Header["X-Key"] = []string{key}
		answer.status = http.StatusOK
		h.ServeHTTP(answer, request)
		if answer.status != http.StatusOK {
			return fmt.Errorf("status %d", answer.status)
		}
		return nil
	}
}

type statusRecorder struct {
	header http.Header
	status int
}

func (a *statusRecorder) Header() http.Header         { return a.header }
func (a *statusRecorder) Write(p []byte) (int, error) { return len(p), nil }
func (a *statusRecorder) WriteHeader(status int)      { a.status = status }

// onRedis returns the row for a token bucket on Redis. If ofRedis is true, it measures the CPU time of Redis.
// Otherwise it measures the CPU time of this process.
func onRedis(ofRedis bool) func(context.Context, string) (work, error) {
	return func(ctx context.Context, address string) (work, error) {
		store, err := open.URL(ctx, "unix://"+address, open.Options{Deadline: 10 * time.Second})
		if err != nil {
			return work{}, err
		}
		l := headgate.New(headgate.WithStore(store))
		p := l.PolicyOf("api", rule.TokenBucket(often))
		w := inMemory(l, func(key string) error { return passes(p.Allow(ctx, key)) })
		client := redis.NewClient(&redis.Options{Network: "unix", Addr: address})
		if ofRedis {
			w.cpu = func(ctx context.Context) (time.Duration, error) { return redisCPU(ctx, client) }
		}
		w.done = func() { _, _, _ = l.Close(), store.Close(), client.Close() }
		return w, nil
	}
}

// redisCPU returns the CPU time used by the server.
func redisCPU(ctx context.Context, client *redis.Client) (time.Duration, error) {
	info, err := client.Info(ctx, "cpu").Result()
	if err != nil {
		return 0, err
	}
	var all time.Duration
	for line := range strings.SplitSeq(info, "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			d, err := time.ParseDuration(value + "s")
			if err != nil {
				return 0, err
			}
			all += d
		}
	}
	return all, nil
}
