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
	// request 0: passes, 17 tokens left
	// request 1: passes, 14 tokens left
	// request 2: passes, 11 tokens left
	// request 3: passes, 8 tokens left
	// request 4: passes, 5 tokens left
	// request 5: passes, 2 tokens left
	// request 6: refused, passes in 100ms
	// request 7: passes, 0 tokens left
	// request 8: refused, passes in 300ms
}

// onRedis is what a Redis adds: where both of an id's keys are.
const onRedis = `both limits in one call: allowed=true, mode exact
headgate/gateway/token-bucket/second/{10.0.0.7} is in slot 4651
headgate/gateway/fixed-window:86400s/day/{10.0.0.7} is in slot 4651
`

// TestCluster: on a real Cluster it prints the same, and both keys of the id are
// where the Cluster itself says.
func TestCluster(t *testing.T) {
	var memory, redis strings.Builder
	if err := run(context.Background(), &memory, open.Memory); err != nil {
		t.Fatal(err)
	}
	nodes := redistest.Cluster(t, redistest.Redis)
	if err := run(context.Background(), &redis, "redis+cluster://"+strings.Join(nodes.Addrs(), ",")); err != nil {
		t.Fatal(err)
	}
	if want := memory.String() + onRedis; redis.String() != want {
		t.Errorf("on a Cluster:\n%s\nwant:\n%s", redis.String(), want)
	}
	for _, key := range []string{"headgate/gateway/token-bucket/second/{10.0.0.7}", "headgate/gateway/fixed-window:86400s/day/{10.0.0.7}"} {
		slot, home := nodes.Of(key)
		if slot != 4651 || home.MustDo("exists", key) != int64(1) {
			t.Errorf("the Cluster has %s in slot %d", key, slot)
		}
	}
}
