package testbed

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

// Main runs a package's tests. It fails if a goroutine outlives them.
func Main(m *testing.M) {
	redis.SetLogger(silence{})
	// When nodes leave a Cluster, or name themselves for a slot that they do not serve, rueidis closes their connections
	// after five seconds, in a goroutine that cannot be stopped earlier.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),                 // sleeps for at most a second
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial")) // the same
}

// silence is a logger that discards messages, for clients whose servers are killed on purpose.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
