package lua

import (
	"testing"

	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/rolling"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// TestVersionsOnRedis runs package rolling's test on Redis.
func TestVersionsOnRedis(t *testing.T) {
	clock := headgatetest.NewClock()
	s := redistest.Standalone(t, redistest.Redis)
	rolling.Run(t, testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Clock: clock.Now}), clock, *rolling.Interleavings/10)
}
