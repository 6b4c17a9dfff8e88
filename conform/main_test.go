package conform

import (
	"context"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

// TestMain makes a goroutine that outlives the tests a failure. Started by a
// test as a process of its own, it only asks a store what that test wants to be
// asked.
func TestMain(m *testing.M) {
	redis.SetLogger(silence{})
	if url := os.Getenv(askerURL); url != "" {
		os.Exit(ask(url))
	}
	// rueidis closes the connections of nodes that left a Cluster five seconds
	// later, in a goroutine that nothing ends before.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"))
}

// silence is a logger for a client whose server the tests kill.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
