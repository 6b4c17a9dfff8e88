// Package headgatetest helps test programs that use Headgate. It provides a clock that the test sets, assertions about
// decisions, and a limiter that records its requests.
package headgatetest

import (
	"sync"
	"time"
)

// Clock is a clock that moves only when a test sets it. Pass its Now method to a store:
//
//	clock := headgatetest.NewClock()
//	store, err := memstore.New(memstore.Config{Clock: clock.Now})
//
// It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock set to 2026-01-01 00:00:00 UTC.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)}
}

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock by d. A negative d moves it back, as when a clock is corrected.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Set sets the clock to t.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}
