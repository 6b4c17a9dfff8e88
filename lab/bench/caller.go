package main

import (
	"math/rand/v2"
	"time"
)

// caller is one goroutine that sends requests.
type caller struct {
	contender
	load

	start, stop   time.Time
	random        *rand.Rand
	asked, failed int64
	took          []time.Duration

	picks  []int32
	picked int // number of keys picked in this round

	next  [100]string
	ready int // number of picked keys that have not been requested yet
	read  byte
}

// one sends one request or, if the contender has askMany, one call with requests for several keys.
func (c *caller) one() {
	if c.askMany != nil {
		c.choose(len(c.next))
		if c.askMany(c.next[:]) != nil {
			c.failed += int64(len(c.next))
		}
		c.asked += int64(len(c.next))
		return
	}
	if c.ready == 0 {
		c.choose(16)
	}
	c.ready--
	if c.ask(c.next[c.ready]) != nil {
		c.failed++
	}
	c.asked++
}

// choose picks the next keys and reads them. A real caller has just received the key in a request, so the key is in the
// CPU cache. In a benchmark with a million keys, it would not be, and reading it would take as long as a decision.
func (c *caller) choose(n int) {
	for i := range n {
		key := c.keys[c.pick()]
		c.next[i] = key
		c.read += key[0] + key[len(key)-1]
	}
	c.ready = n
}

// pick returns the index of the next key: uniformly distributed, or from the load's picks.
func (c *caller) pick() int {
	if !c.zipf {
		return c.random.IntN(len(c.keys))
	}
	c.picked = (c.picked + 1) % len(c.picks)
	return int(c.picks[c.picked])
}

// picks returns the indexes of keys drawn from a Zipf distribution with exponent 1.1. They are drawn before the
// measurement, because drawing a key takes as long as several decisions.
func (l load) picks() (picks []int32) {
	if !l.zipf {
		return nil
	}
	zipf := rand.NewZipf(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())), 1.1, 1, uint64(len(l.keys)-1))
	for range 1 << 18 {
		picks = append(picks, int32(zipf.Uint64()))
	}
	return picks
}

// flatOut sends requests as fast as possible. It reads the clock only once for many requests, so that reading the clock
// does not affect the measurement.
func (c *caller) flatOut() {
	for time.Now().Before(c.stop) {
		for sent := c.asked; c.asked < sent+max(1, int64(4096/c.callers)); {
			c.one()
		}
	}
}

// late is the maximum delay of a timer on a quiet machine.
const late = 2 * time.Millisecond

// timed sends requests at predetermined times and measures latency from these times, so that waiting for an earlier
// response counts too.
func (c *caller) timed(n int) {
	due := time.Now()
	interval := time.Duration(0)
	if c.perSecond > 0 {
		interval = time.Duration(float64(c.callers) / c.perSecond * 1e9)
		due = c.start.Add(interval * time.Duration(n) / time.Duration(c.callers))
	}
	for due.Before(c.stop) {
		early, from := time.Now().Before(due), due
		time.Sleep(time.Until(due))
		if woken := time.Now(); early && woken.Sub(due) < late {
			from = woken
		}
		c.one()
		now := time.Now()
		c.took = append(c.took, now.Sub(from))
		if due = due.Add(interval); interval == 0 {
			due = now
		}
	}
}
