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

// newKeys returns n keys that are unique to this run.
func newKeys(n int) []string {
	run := strings.ToLower(rand.Text()[:8])
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("bench:%s:%d", run, i)
	}
	return keys
}

// caller sends requests from one goroutine.
type caller struct {
	config  *Config
	index   int
	keys    []string
	client  client
	shared  *counters
	latency *hdrhistogram.Histogram
	log     []entry
}

// run sends requests until ctx ends. At a fixed rate, request n of caller i of k is due at start + (n·k + i)/rate. If
// an earlier answer is late, the time that the request waits for it counts as latency.
func (c *caller) run(ctx context.Context, start time.Time) {
	next := c.picker()
	interval, due := time.Duration(0), time.Now()
	if c.config.Rate > 0 {
		interval = time.Duration(float64(c.config.Callers) / c.config.Rate * float64(time.Second))
		due = start.Add(interval / time.Duration(c.config.Callers) * time.Duration(c.index))
	}
	for {
		early := time.Now().Before(due)
		if !sleep(ctx, due) {
			return
		}
		c.take(ctx, next(), latencyStart(due, early))
		if due = due.Add(interval); interval == 0 {
			due = time.Now()
		}
	}
}

// timerSlack is how late a timer may fire on an idle system. Kernel timers have a resolution of a millisecond.
const timerSlack = 2 * time.Millisecond

// latencyStart returns the time from which a request's latency counts: the time when it was due, or now if the
// caller's timer fired within timerSlack.
func latencyStart(due time.Time, early bool) time.Time {
	if now := time.Now(); early && now.Sub(due) < timerSlack {
		return now
	}
	return due
}

// sleep waits until a time. It returns false if ctx has ended.
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

// picker returns a function that chooses the index of the next request's key, according to Config.Zipf.
func (c *caller) picker() func() int {
	source := random.New(random.NewPCG(random.Uint64(), random.Uint64()))
	if c.config.Zipf {
		zipf := random.NewZipf(source, 1.1, 1, uint64(len(c.keys)-1))
		return func() int { return int(zipf.Uint64()) }
	}
	return func() int { return source.IntN(len(c.keys)) }
}

// take sends one request. It is canceled by Config.Timeout, but not by the end of the run.
func (c *caller) take(ctx context.Context, key int, from time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.config.Timeout)
	defer cancel()
	sent := time.Now()
	allowed, at, err := c.client.take(ctx, c.keys[key])
	received := time.Now()
	_ = c.latency.RecordValue(min(300_000_000, max(1, received.Sub(from).Microseconds())))
	switch {
	case err != nil:
		c.shared.failed.Add(1)
		c.shared.failure.Store(&err)
		return
	case allowed:
		c.shared.allowed.Add(1)
	default:
		c.shared.denied.Add(1)
	}
	if at.IsZero() {
		at = sent.Add(received.Sub(sent) / 2)
	}
	if c.shared.logged.Add(1) <= maxLogged {
		c.log = append(c.log, entry{at: at.UnixMicro(), key: int32(key), allowed: allowed})
	}
}
