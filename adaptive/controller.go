package adaptive

import (
	"fmt"
	"math/bits"
	"time"
)

// A window lasts at least window µs. It ends as soon as it contains enough calls (samples), or after windowLong µs.
const (
	window     = 250_000
	windowLong = 2_000_000
	samples    = 20
)

// After a quiet period, up to burst times the limit may be in flight, for burstFor times the accepted latency. In that
// time a burst drains by itself, while an overload does not. A burst can begin only if at most half the limit was in
// flight before.
const (
	burst    = 4
	burstFor = 6
)

// Controller adjusts a limit. Its methods take the time as an argument, in µs on any clock that does not go back. It is
// not safe for concurrent use.
type Controller struct {
	min, max int64
	latency  int64
	limit    int64

	opened       int64 // start of the window
	done, failed int64
	slow         int64 // calls in the window that failed or took longer than the latency
	highest      int64 // maximum number of calls in flight in the window
	denied       bool
	calm         int64 // the last instant with few calls in flight

	bound, sum int64 // number of windows that reached the limit, and the sum of the limits after them
	peak       int64 // maximum number of calls in flight since the last peak ended
	crowded    bool  // a call was denied since then
	served     int64 // highest peak that ended without a denial
	why        string
}

// NewController returns a controller with the settings of a limiter.
func NewController(c Config) (*Controller, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return &Controller{min: int64(c.Min), max: int64(c.Max), limit: int64(c.start()), latency: c.Latency.Microseconds(), why: "start"}, nil
}

// Limit returns the number of calls that may be in flight in the long run.
func (c *Controller) Limit() int64 {
	if c == nil {
		return 0
	}
	return c.limit
}

// Allow reports whether another call may begin while inFlight calls are in flight.
func (c *Controller) Allow(now, inFlight int64) bool {
	if c == nil {
		return false
	}
	if c.opened == 0 {
		c.opened = now
	}
	if inFlight <= c.limit/2 {
		c.calm = now
	}
	if inFlight <= c.peak/2 {
		if !c.crowded {
			c.served = max(c.served, c.peak)
		}
		c.peak, c.crowded = 0, false
	}
	most := c.limit
	if now-c.calm <= burstFor*c.latency {
		most = min(burst*c.limit, c.max)
	}
	c.highest = max(c.highest, inFlight+1)
	if inFlight >= most {
		c.denied, c.crowded = true, true
		return false
	}
	c.peak = max(c.peak, inFlight+1)
	return true
}

// Done records the end of a call that lasted took µs. A call failed if it timed out or an overloaded server refused
// it.
func (c *Controller) Done(now, took int64, failed bool) {
	if c == nil {
		return
	}
	if failed {
		c.failed++
	} else {
		c.done++
	}
	if failed || took > c.latency {
		c.slow++
	}
	if span, calls := now-c.opened, c.done+c.failed; span >= window && calls >= samples || span >= windowLong {
		c.close(now, span, calls)
	}
}

// close ends a window. If the limit was not reached and at most half of the calls were slow, the window contains no
// information about the limit.
func (c *Controller) close(now, span, calls int64) {
	full := c.denied || c.highest >= c.limit
	if late := 2*c.slow > calls; full || late {
		c.follow(span, calls, late)
		c.bound, c.sum = c.bound+1, c.sum+c.limit
	}
	c.opened, c.done, c.failed, c.slow, c.highest, c.denied = now, 0, 0, 0, 0, false
}

// follow moves the limit towards the average number of calls that complete in a time span as long as the latency. It
// lowers the limit only if more than half of the calls were slow (late is set). One step can at most double the limit,
// or lower it by a quarter (by 1 if the limit is below 4), so that a single unusual window has little effect.
func (c *Controller) follow(span, calls int64, late bool) {
	hi, lo := bits.Mul64(uint64(c.done), uint64(c.latency))
	target, _ := bits.Div64(hi, lo, uint64(span)) // fits 64 bits, because done·latency/span is a number of calls
	next := min(max(int64(target), c.limit-max(1, c.limit/4)), 2*c.limit)
	if !late && next < c.limit { // calls are quick, so the limit is not too high
		next = c.limit
	}
	next = min(max(next, c.min), c.max)
	switch {
	case next > c.limit:
		c.why = fmt.Sprintf("limit %d ↑ %d: %d of %d calls in %v were within %v", c.limit, next, calls-c.slow, calls, micros(span), micros(c.latency))
	case next < c.limit:
		c.why = fmt.Sprintf("limit %d ↓ %d: %d of %d calls in %v took longer than %v or failed", c.limit, next, c.slow, calls, micros(span), micros(c.latency))
	}
	c.limit = next
}

// Suggest returns the fixed limit that would have performed about as well. This is the mean limit after the windows
// that reached their limit or, if it is more, the highest number of calls in flight in a peak without a denial: a lower
// fixed limit would have denied calls that the server could handle. A peak ends when the calls in flight are halved.
// Suggest returns 0 if no window reached its limit.
func (c *Controller) Suggest() int64 {
	if c == nil || c.bound == 0 {
		return 0
	}
	return max((c.sum+c.bound/2)/c.bound, c.served)
}

// Why returns the reason for the last change of the limit.
func (c *Controller) Why() string {
	if c == nil {
		return ""
	}
	return c.why
}

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
