package testbed

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

// Main runs the tests of a package. A goroutine that outlives them is a failure.
func Main(m *testing.M) {
	redis.SetLogger(silence{})
	// rueidis closes the connections to nodes that left a Cluster after five seconds, in a goroutine that cannot be
	// stopped earlier.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1")) // it sleeps for a second at most
}

// silence is a logger for clients whose servers are killed on purpose.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
