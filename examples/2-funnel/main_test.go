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
	// funnel of 15: 15 of 20 pass
	// CL.THROTTLE 15 30 60: 16 of 20 pass, come back in 2s
	// after sleeping: allowed=true
	// rescheduled in 2s
	// rescheduled: allowed=true
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
