package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
)

const (
	// clockReuse is how long the measured difference of two clocks is used.
	clockReuse = 10 * time.Second
	// clockTimeout bounds one question for the time.
	clockTimeout = time.Second
)

// storeClock tells the store's time. The ends of changes are compared with it: a server
// whose own clock is ahead would end them for all servers.
type storeClock struct {
	limiter *headgate.Limiter

	mu       sync.Mutex
	ahead    time.Duration // of the store
	measured time.Time
}

// now returns the store's time. While the store does not answer, it is this machine's
// with the last difference that was measured.
func (c *storeClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.measured.IsZero() || now.Sub(c.measured) >= clockReuse {
		c.measured = now
		c.measure()
	}
	return time.Now().Add(c.ahead)
}

// measure asks for the store's time by a look at a key that no request writes.
func (c *storeClock) measure() {
	ctx, cancel := context.WithTimeout(context.Background(), clockTimeout)
	defer cancel()
	op := engine.Single(engine.OpPeek, "clock", headgate.TokenBucket(headgate.PerSecond(1)), 1)
	op.Space = "ready"
	sent := time.Now()
	results := [1]headgate.Result{}
	c.limiter.Do(ctx, []engine.Op{op}, results[:])
	if results[0].Err == nil {
		c.ahead = results[0].Decision.At.Sub(sent.Add(time.Since(sent) / 2)).Round(time.Millisecond)
	}
}
