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
	// alice: allowed=true remaining=5
	// alice: allowed=true remaining=4
	// bob: allowed=true remaining=5
	// take alice 3: allowed=true remaining=1
	// take alice 2: allowed=false remaining=1
	// take bob 1: allowed=true remaining=4
	// peek carol 1: allowed=true remaining=6
	// take alice 1: allowed=true remaining=0
}

// TestRedis: on a Redis it prints the same, and what one call has saved.
func TestRedis(t *testing.T) {
	var memory, redis strings.Builder
	if err := run(context.Background(), &memory, open.Memory); err != nil {
		t.Fatal(err)
	}
	if err := run(context.Background(), &redis, "redis://"+redistest.Standalone(t, redistest.Redis).Addr()); err != nil {
		t.Fatal(err)
	}
	if want := memory.String() + "5 operations in 1 round trip: 4 saved\n"; redis.String() != want {
		t.Errorf("on Redis:\n%s\nwant:\n%s", redis.String(), want)
	}
}
