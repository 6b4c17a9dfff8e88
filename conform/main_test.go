package conform

import (
	"context"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

// TestMain makes a goroutine that outlives the tests a failure. If a test started it as a
// separate process, it only sends a store the operations of that test.
func TestMain(m *testing.M) {
	redis.SetLogger(silence{})
	if url := os.Getenv(askerURL); url != "" {
		os.Exit(ask(url))
	}
	// rueidis closes the connections of nodes that left a Cluster five seconds later, in
	// a goroutine that cannot be ended before.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"))
}

// silence is a logger for clients whose servers the tests kill.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
