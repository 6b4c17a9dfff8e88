package examples_test

import (
	"os"
	"strings"
	"testing"

	"github.com/headgate/headgate/conform/redistest"
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
	"github.com/headgate/headgate/policy/decide"
	"github.com/redis/go-redis/v9"
)

var (
	before *redis_rate.Limiter
	after  *decide.Limiter
)

FUNCTION

const file = FILE

func follow(url, text string) {
	config, err := policy.Parse("policies.yaml", []byte(text))
	if err != nil {
		panic(err)
	}
	store, err := open.Store(context.Background(), url, open.Options{StartAway: true})
	if err != nil {
		panic(err)
	}
	after = decide.New(config, headgate.New(headgate.WithStore(store)))
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
