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
	// fixed window: 3 of 5 pass
	// sliding window, as the hash and list scripts do: 3 of 5 pass
	// sliding window, kept strictly: 3 of 5 pass
	// leaky bucket: 3 of 5 pass
	// token bucket: 3 of 5 pass
	// call 0: passes
	// call 1: passes
	// call 2: violates 2/s
	// call 3: passes
	// call 4: passes
	// call 5: violates 2/s
	// call 6: passes
	// call 7: violates 5/1m
	// call 8: violates 5/1m
	// headgate: windows is 5/s beside 5/1m; accepted: each shorter window with a smaller limit than the longer ones
	// headgate: segment is 100ms; accepted: a length that goes 1 to 1000 times into 1.05s
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
