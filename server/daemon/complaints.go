package daemon

import (
	"log/slog"
	"sync"
	"time"
)

// complaintEvery is how often decisions that are not known are logged: a store
// that is away would fill the disk with them.
const complaintEvery = time.Second

// complaints logs errors of the store, the first at once and then one a second
// at most, with how many were left out.
type complaints struct {
	logger *slog.Logger
	mu     sync.Mutex
	next   time.Time
	left   int
}

func (c *complaints) add(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Before(c.next) {
		c.left++
		return
	}
	c.logger.Error("decision not known", "error", err, "left_out", c.left)
	c.next, c.left = now.Add(complaintEvery), 0
}
