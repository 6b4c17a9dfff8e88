package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/policy"
)

const (
	// readyFor is how long the result of a check stands, so that the store gets
	// at most a hundred a second however many probes there are.
	readyFor = 10 * time.Millisecond
	// readyWithin bounds a check where the deadline of decisions is longer.
	readyWithin = time.Second
)

var errDraining = errors.New("the server is draining: it stops soon")

// probe is the look-up of a key that is never written.
var probe = engine.Op{
	Kind: engine.OpExpiry, Space: "ready", Key: "ready",
	Charges: []engine.Charge{{Limit: headgate.TokenBucket(headgate.PerSecond(1))}},
}

// Ready returns nil where new requests should be sent here, and otherwise an
// [*Error] of code Unavailable that says why not: the server drains, or the
// store does not answer while a failure mode says deny ([Config.CheckStore]).
func (s *Service) Ready(ctx context.Context) error {
	switch {
	case s.draining.Load():
		return &Error{Code: Unavailable, Err: errDraining}
	case s.needsStore:
		return s.readiness.wait(ctx, s.checkStore)
	default:
		return nil
	}
}

// Drain makes Ready report that the server drains. Requests are still answered.
func (s *Service) Drain() { s.draining.Store(true) }

// needsStore reports whether anything configured is an error while the store is
// away.
func needsStore(c *Config) bool {
	needs := c.Failure == policy.Deny
	for _, name := range c.Policies.Names() {
		p, _ := c.Policies.Get(name)
		needs = needs || p.Failure == policy.Deny
	}
	return c.CheckStore && needs
}

// checkStore asks the store once. It returns by the deadline of decisions.
func (s *Service) checkStore() error {
	within := readyWithin
	if s.config.Deadline > 0 {
		within = min(within, s.config.Deadline)
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	ops, results := [1]engine.Op{probe}, [1]headgate.Result{}
	s.ask(ctx, ops[:], results[:])
	if err := results[0].Err; err != nil {
		return classify(err)
	}
	return nil
}

// readiness shares one check among the probes that come while it runs, and for
// readyFor after.
type readiness struct {
	mu   sync.Mutex
	last *check
}

// check is one look at the store.
type check struct {
	done  chan struct{} // closed when err and ended are set
	err   error
	ended time.Time
}

func (r *readiness) wait(ctx context.Context, look func() error) error {
	r.mu.Lock()
	c := r.last
	if c == nil || c.stale() {
		c = &check{done: make(chan struct{})}
		r.last = c
		go func() { // not under the probe's context: others wait for it too
			c.err, c.ended = look(), time.Now()
			close(c.done)
		}()
	}
	r.mu.Unlock()
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return &Error{Code: Unavailable, Err: ctx.Err()}
	}
}

func (c *check) stale() bool {
	select {
	case <-c.done:
		return time.Since(c.ended) > readyFor
	default:
		return false
	}
}
