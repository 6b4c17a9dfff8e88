package memstore

import (
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// clock reads the store's time. By the system's clock, Now is the wall clock at
// start plus monotonic elapsed time, so that nobody gains or loses by a clock
// that is set; Wall is the wall clock, never backwards, for windows that people
// expect to begin on the hour. By a clock of the caller's, both are what it
// says, backwards included.
type clock struct {
	turned  func() time.Time
	started time.Time
	origin  int64 // started in µs
	latest  atomic.Int64
}

func (c *clock) start(turned func() time.Time) {
	c.turned = turned
	c.started = time.Now()
	c.origin = c.started.UnixMicro()
}

// read returns the instant. Wall is only right where it is asked for, because
// to keep it from going back takes memory that all shards share.
func (c *clock) read(wall bool) algo.Instant {
	if c.turned != nil {
		now := c.turned().UnixMicro()
		return algo.Instant{Now: now, Wall: now}
	}
	if !wall {
		return algo.Instant{Now: c.origin + time.Since(c.started).Microseconds()}
	}
	t := time.Now()
	return algo.Instant{Now: c.origin + t.Sub(c.started).Microseconds(), Wall: c.forward(t.UnixMicro())}
}

// forward returns the latest wall time seen.
func (c *clock) forward(wall int64) int64 {
	for {
		latest := c.latest.Load()
		if wall <= latest {
			return latest
		}
		if c.latest.CompareAndSwap(latest, wall) {
			return wall
		}
	}
}
