package load

import (
	"context"
	"crypto/rand"
	"fmt"
	random "math/rand/v2"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// names returns keys that no other run has.
func names(n int) []string {
	own := strings.ToLower(rand.Text()[:8])
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("bench:%s:%d", own, i)
	}
	return keys
}

// caller is one goroutine that asks.
type caller struct {
	config  *Config
	index   int
	keys    []string
	ask     asker
	shared  *counters
	latency *hdrhistogram.Histogram
	log     []entry
}

// run asks until ctx ends. At a fixed rate, operation n of caller i of k is due
// at start + (n·k + i)/rate: whoever waits for an earlier answer has waited.
func (c *caller) run(ctx context.Context, start time.Time) {
	next := c.picker()
	interval, due := time.Duration(0), time.Now()
	if c.config.PerSecond > 0 {
		interval = time.Duration(float64(c.config.Callers) / c.config.PerSecond * float64(time.Second))
		due = start.Add(interval / time.Duration(c.config.Callers) * time.Duration(c.index))
	}
	for {
		early := time.Now().Before(due)
		if !sleep(ctx, due) {
			return
		}
		c.one(ctx, next(), since(due, early))
		if due = due.Add(interval); interval == 0 {
			due = time.Now()
		}
	}
}

// late is how late timers wake at most where nothing else is late: the system's
// own have whole milliseconds.
const late = 2 * time.Millisecond

// since returns the instant from which an operation's latency counts: when it
// was due; or now, if the caller was early and his timer no later than they are.
func since(due time.Time, early bool) time.Time {
	if now := time.Now(); early && now.Sub(due) < late {
		return now
	}
	return due
}

// sleep waits until an instant, and reports whether ctx has ended.
func sleep(ctx context.Context, until time.Time) bool {
	if wait := time.Until(until); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// picker returns what chooses keys.
func (c *caller) picker() func() int {
	source := random.New(random.NewPCG(random.Uint64(), random.Uint64()))
	if c.config.Zipf {
		zipf := random.NewZipf(source, 1.1, 1, uint64(len(c.keys)-1))
		return func() int { return int(zipf.Uint64()) }
	}
	return func() int { return source.IntN(len(c.keys)) }
}

// one asks for a decision. The end of the run does not cut it short, its own
// time does.
func (c *caller) one(ctx context.Context, key int, from time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.config.Timeout)
	defer cancel()
	sent := time.Now()
	allowed, at, err := c.ask.take(ctx, c.keys[key])
	heard := time.Now()
	_ = c.latency.RecordValue(min(300_000_000, max(1, heard.Sub(from).Microseconds())))
	switch {
	case err != nil:
		c.shared.failed.Add(1)
		c.shared.failure.Store(&err)
		return
	case allowed:
		c.shared.allowed.Add(1)
	default:
		c.shared.refused.Add(1)
	}
	if at.IsZero() {
		at = sent.Add(heard.Sub(sent) / 2)
	}
	if c.shared.logged.Add(1) <= maxLogged {
		c.log = append(c.log, entry{at: at.UnixMicro(), key: int32(key), allowed: allowed})
	}
}
