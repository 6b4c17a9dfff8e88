package examples_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"

	"github.com/headgate/headgate"
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
		"EVAL return 0":       "ERR unknown command 'EVAL'",
		"EVALSHA x 0":         "ERR unknown command 'EVALSHA'",
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
