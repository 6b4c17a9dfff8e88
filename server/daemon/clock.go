package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
)

const (
	// clockReuse is how long a measured clock difference is used.
	clockReuse = 10 * time.Second
	// clockTimeout bounds one reading of the store's time.
	clockTimeout = time.Second
)

// storeClock estimates the store's time. The estimate is late by at most one round trip, and never early. The expiry of
// changes is compared with it, because a server whose own clock is ahead would end changes early for all servers.
type storeClock struct {
	limiter *core.Limiter

	mu       sync.Mutex
	ahead    time.Duration // lower bound on how far the store's clock is ahead
	measured time.Time
}

// now returns the store's time. While the store does not answer, it returns this machine's time plus the last
// measured difference.
func (c *storeClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.measured.IsZero() || now.Sub(c.measured) >= clockReuse {
		c.measured = now
		c.measure()
	}
	return time.Now().Add(c.ahead)
}

// measure reads the store's time by looking up a key that no request writes.
func (c *storeClock) measure() {
	ctx, cancel := context.WithTimeout(context.Background(), clockTimeout)
	defer cancel()
	op := engine.Single(engine.OpPeek, "clock", engine.Bucket(engine.Per(1, time.Second)), 1)
	op.Space = "ready"
	results := [1]engine.Answer{}
	c.limiter.Do(ctx, []engine.Op{op}, results[:])
	if results[0].Err == nil {
		c.ahead = time.Until(results[0].At())
	}
}
