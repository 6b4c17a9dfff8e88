package lua

import (
	"fmt"
	"testing"

	"github.com/headgate/headgate/conform/redistest"
	"github.com/headgate/headgate/conform/rolling"
	"github.com/headgate/headgate/conform/testbed"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/redisstore"
)

// TestVersionsOnRedis runs package rolling's test on Redis, with keys and with hashes.
func TestVersionsOnRedis(t *testing.T) {
	for _, hashes := range []int{0, 4} {
		t.Run(fmt.Sprint("hashes=", hashes), func(t *testing.T) {
			clock := headgatetest.NewClock()
			s := redistest.Standalone(t, redistest.Redis)
			rolling.Run(t, testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Clock: clock.Now, Hashes: hashes}), clock, *rolling.Interleavings/10)
		})
	}
}
