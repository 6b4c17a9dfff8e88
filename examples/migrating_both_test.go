package examples_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	ulule "github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	"github.com/ulule/limiter/v3/drivers/store/memory"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
)

// askBoth wraps the function in docs/changing-over.md. It prints the answers to six requests: three while Headgate
// is a shadow, one while it decides, and two with an empty Redis for redis_rate. The second of these also has no
// Redis for Headgate.
const askBoth = `package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-redis/redis_rate/v10"
	"github.com/headgate/headgate"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
	"github.com/redis/go-redis/v9"
)

var (
	before *redis_rate.Limiter
	after  *filelimit.Limiter
)

FUNCTION

const file = FILE

func follow(url, text string) {
	config, err := policy.Parse("policies.yaml", []byte(text))
	if err != nil {
		panic(err)
	}
	store, err := open.URL(context.Background(), url, open.Options{StartAway: true, Deadline: -1})
	if err != nil {
		panic(err)
	}
	after = filelimit.New(config, headgate.New(headgate.WithStore(store)))
}

func main() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: "REDIS"})
	before = redis_rate.NewLimiter(client)
	follow("redis://REDIS", file)
	fmt.Println(allowed(ctx, "ann"))
	fmt.Println(allowed(ctx, "ann"))
	fmt.Println(allowed(ctx, "ann"))
	follow("redis://REDIS", ACTIVE)
	fmt.Println(allowed(ctx, "ann"))
	before.Reset(ctx, "user:ann")
	fmt.Println(allowed(ctx, "ann"))
	follow("redis://127.0.0.1:1", ACTIVE)
	fmt.Println(allowed(ctx, "ann"))
}
`

// TestAskBoth runs the function that asks redis_rate and then Headgate. The active limit must find the requests that
// its shadow has counted.
func TestAskBoth(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/changing-over.md")
	if err != nil {
		t.Fatal(err)
	}
	file := firstBlock(t, string(page), "yaml")
	active := strings.Replace(file, ", shadow: true", "", 1)
	if active == file {
		t.Fatal("the policy on the page is not a shadow")
	}
	program := strings.NewReplacer("FUNCTION", firstBlock(t, string(page), "go"), "FILE", "`"+file+"`", "ACTIVE", "`"+active+"`",
		"REDIS", redistest.Standalone(t, redistest.Redis).Addr()).Replace(askBoth)
	if got, want := runProgram(t, program), "true <nil>\ntrue <nil>\nfalse <nil>\nfalse <nil>\nfalse <nil>\ntrue <nil>\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestMiddlewareInsideAnother checks that the middleware of a shadow writes no headers inside another middleware, and
// that the active limit then finds the requests that the shadow has counted.
func TestMiddlewareInsideAnother(t *testing.T) {
	t.Parallel()
	parse := func(more string) *policy.Config {
		config, err := policy.Parse("policies.yaml", []byte(`
policies: {api: {algorithm: fixed-window, limit: 2, window: 1h, headers: x-ratelimit`+more+`}}
routes: [{key: [client_ip], policies: [api]}]`))
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	served := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	after := filelimit.New(parse(", shadow: true"), headgate.New())
	both := httplimit.By(after)(served)
	ask := func() string {
		before := ulule.New(memory.NewStore(), ulule.Rate{Period: time.Hour, Limit: 9})
		w := httptest.NewRecorder()
		stdlib.NewMiddleware(before).Handler(both).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		return fmt.Sprint(w.Code, w.Header()["X-Ratelimit-Limit"])
	}
	for range 3 {
		if got := ask(); got != "200 [9]" {
			t.Error("shadow:", got)
		}
	}
	after.Replace(parse(""))
	if got := ask(); got != "429 [2]" {
		t.Error("active:", got)
	}
	after.Replace(parse(", shadow: true"))
	if got := ask(); got != "200 [9]" {
		t.Error("shadow again:", got)
	}
}
