package examples_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/lab/redistest"
)

// TestPeekAtTheLimit checks the statement about ulule's Peek in docs/migrating-from-other-limiters.md.
func TestPeekAtTheLimit(t *testing.T) {
	ctx := t.Context()
	ulule := limiter.New(memory.NewStore(), limiter.Rate{Period: time.Hour, Limit: 2})
	ours := headgate.New().Policy("per-ip", headgate.FixedWindow{Rate: headgate.PerHour(2)})
	for range 2 {
		there, err := ulule.Get(ctx, "k")
		here, err2 := ours.Allow(ctx, "k")
		if err != nil || err2 != nil || there.Reached || !here.Allowed {
			t.Fatal(there, err, here, err2)
		}
	}
	there, err := ulule.Peek(ctx, "k")
	here, err2 := ours.Peek(ctx, "k", 1)
	if err != nil || err2 != nil || there.Reached || there.Remaining != 0 || here.Allowed || here.Remaining != 0 {
		t.Errorf("there %+v, %v; here %+v, %v", there, err, here, err2)
	}
}

// TestRetryAfterAboveTheLimit checks the page's statement about a cost that can never pass.
func TestRetryAfterAboveTheLimit(t *testing.T) {
	t.Parallel()
	const program = `package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/go-chi/httprate"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
)

func main() {
	hello := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	perIP := headgate.New().Policy("per-ip", headgate.SlidingWindow{Rate: headgate.PerHour(2)})
	cost := httplimit.WithCost(func(*http.Request) int64 { return 3 })
	for _, handler := range []http.Handler{httprate.LimitByIP(2, time.Hour)(hello), httplimit.New(perIP, httplimit.ByIP(), cost)(hello)} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		handler.ServeHTTP(w, r.WithContext(httprate.WithIncrement(r.Context(), 3)))
		fmt.Println(w.Code, w.Header().Get("Retry-After") != "")
	}
}
`
	if got, want := runProgram(t, program), "429 true\n429 false\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestCommandsThatOnlyRedisAnswers checks the errors in the table about redis-cell.
func TestCommandsThatOnlyRedisAnswers(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: headgateServer(t)})
	defer client.Close()
	for command, want := range map[string]string{
		"SELECT 1":            "ERR DB index is out of range",
		"EVAL return 0":       "ERR this server runs no Lua",
		"EVALSHA x 0":         "ERR this server runs no Lua",
		"FUNCTION LIST":       "ERR unknown command 'FUNCTION'",
		"CLUSTER SLOTS":       "ERR unknown command 'CLUSTER'",
		"CLIENT TRACKING ON":  "ERR unknown subcommand 'TRACKING'",
		"CL.THROTTLE  1 2 60": "ERR key must be 1 to 1024 bytes",
	} {
		var words []any
		for word := range strings.SplitSeq(command, " ") {
			words = append(words, word)
		}
		if err := client.Do(context.Background(), words...).Err(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", command, err, want)
		}
	}
}

// TestAnswersOfRedisRate checks the statements about denials and about limits that change from call to call.
func TestAnswersOfRedisRate(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	client := redis.NewClient(&redis.Options{Addr: redistest.Standalone(t, redistest.Redis).Addr()})
	defer client.Close()
	before, limiter := redis_rate.NewLimiter(client), headgate.New()
	three := func() *headgate.Policy {
		return limiter.Policy("project", headgate.TokenBucket{Rate: headgate.PerHour(3)})
	}
	for _, c := range []struct {
		n                            int
		theirRemaining, ourRemaining int64
		allowed, theirWait, ourWait  bool
	}{
		{2, 1, 1, true, false, false},
		{2, 0, 1, false, true, true},
		{9, 0, 1, false, true, false},
	} {
		there, err := before.AllowN(ctx, "project:1", redis_rate.PerHour(3), c.n)
		here, err2 := three().AllowN(ctx, "1", int64(c.n))
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if there.Allowed > 0 != c.allowed || int64(there.Remaining) != c.theirRemaining || there.RetryAfter > 0 != c.theirWait {
			t.Errorf("%d units: redis_rate %+v", c.n, there)
		}
		if here.Allowed != c.allowed || here.Remaining != c.ourRemaining || (here.RetryAfter > 0 && here.RetryAfter != headgate.Never) != c.ourWait {
			t.Errorf("%d units: %+v", c.n, here)
		}
	}
	five, err := three().With(headgate.TokenBucket{Rate: headgate.PerHour(5)}).Peek(ctx, "1", 1)
	if err != nil || five.Remaining != 3 {
		t.Errorf("with 5 an hour: %+v, %v; want 3 remaining", five, err)
	}
	for _, key := range []string{"", strings.Repeat("k", 1025)} {
		if _, err := before.Allow(ctx, key, redis_rate.PerHour(3)); err != nil {
			t.Errorf("redis_rate, key of %d bytes: %v", len(key), err)
		}
		if _, err := three().Allow(ctx, key); !errors.Is(err, headgate.ErrInvalid) {
			t.Errorf("key of %d bytes: %v", len(key), err)
		}
	}
	found, err := three().Reset(ctx, "1")
	if err != nil || !found {
		t.Error(found, err)
	}
}

// TestHeaderWithTheTextOfAnAddress checks the statement about the key httplimit.Or.
func TestHeaderWithTheTextOfAnAddress(t *testing.T) {
	policy := headgate.New().Policy("api", headgate.FixedWindow{Rate: headgate.PerHour(1)})
	handler := httplimit.New(policy, httplimit.Or(httplimit.ByHeader("X-User"), httplimit.ByIP()))(http.NotFoundHandler())
	for _, user := range []string{"", "192.0.2.1"} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		if user != "" {
			r.Header.Set("X-User", user)
		}
		if handler.ServeHTTP(w, r); w.Code != http.StatusNotFound {
			t.Errorf("user %q: status %d", user, w.Code)
		}
	}
}
