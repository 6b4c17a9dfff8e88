package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/headgate/headgate/conform/redistest"
	"github.com/headgate/headgate/open"
)

func Example() {
	if err := run(context.Background(), os.Stdout, open.Memory); err != nil {
		fmt.Println(err)
	}
	// Output:
	// sliding-log 5/1m: 5 of 20 pass
	// sliding-log 5/1m count_denied name "counting": 5 of 20 pass
	// sliding-log 5/1m: after 60 s allowed=true, retry after 0s
	// sliding-log 5/1m count_denied name "counting": after 60 s allowed=false, retry after 30s
}

// TestRedis: on a Redis it prints the same.
func TestRedis(t *testing.T) {
	var memory, redis strings.Builder
	if err := run(context.Background(), &memory, open.Memory); err != nil {
		t.Fatal(err)
	}
	if err := run(context.Background(), &redis, "redis://"+redistest.Standalone(t, redistest.Redis).Addr()); err != nil {
		t.Fatal(err)
	}
	if want := memory.String() + ""; redis.String() != want {
		t.Errorf("on Redis:\n%s\nwant:\n%s", redis.String(), want)
	}
}
