package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
)

const (
	// checkReuse is how long the result of a check is reused. It limits checks of the store to a hundred per second,
	// regardless of the number of probes.
	checkReuse = 10 * time.Millisecond
	// checkTimeout bounds a check. If the deadline for decisions is shorter, that deadline applies instead.
	checkTimeout = time.Second
)

var errDraining = errors.New("the server is draining: it stops soon")

// checkOp looks up a key that no request writes.
var checkOp = engine.Op{
	Kind: engine.OpExpiry, Space: "ready", Key: "ready",
	Charges: []engine.Charge{{Limit: engine.Bucket(engine.Per(1, time.Second))}},
}

// Ready returns nil if new requests should be sent to this server. Otherwise it returns an [*Error] with code
// Unavailable and the reason: the server is draining, or the store has refused all calls so far, or it does not answer.
// The last matters only if [Config.CheckStore] is set and some failure mode is deny.
func (s *Service) Ready(ctx context.Context) error {
	if refused := s.refused(); refused != nil {
		return classify(refused)
	}
	switch {
	case s.Draining():
		return &Error{Code: Unavailable, Err: errDraining}
	case s.policies.Load().needsStore:
		return s.readiness.wait(ctx, s.checkStore)
	default:
		return nil
	}
}

// refused returns the error of a store that has decided nothing so far: see [Config.Refused].
func (s *Service) refused() error {
	if s.config.Refused == nil {
		return nil
	}
	return s.config.Refused()
}

// Drain makes Ready return an error. Requests are still answered.
func (s *Service) Drain() { s.draining.Store(true) }

// Draining reports whether Drain was called.
func (s *Service) Draining() bool { return s.draining.Load() }

// needsStore reports whether readiness depends on the store: CheckStore is set, and some requests would get errors
// during an outage.
func (c *Config) needsStore(policies *policy.Set) bool {
	needs := c.Failure.Fails()
	for _, name := range policies.Names() {
		p, _ := policies.Get(name)
		needs = needs || p.Answers().Fails()
	}
	return c.CheckStore && needs
}

// checkStore makes one call to the store, within checkTimeout and the deadline for decisions. Its error is an [*Error].
func (s *Service) checkStore() error {
	timeout := checkTimeout
	if s.config.Deadline > 0 {
		timeout = min(timeout, s.config.Deadline)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	ops, results := [1]engine.Op{checkOp}, [1]engine.Answer{}
	s.decide(ctx, ops[:], results[:])
	if err := results[0].Err; err != nil {
		return classify(err)
	}
	return nil
}

// readiness shares the result of a check among the probes that arrive while it runs, and for checkReuse afterwards.
type readiness struct {
	mu   sync.Mutex
	last *check
}

type check struct {
	done  chan struct{} // closed when err and ended are set
	err   error
	ended time.Time
}

// wait waits for a check and returns its result. It starts a check if the last one is stale. If the probe's context
// ends first, it returns an error with code Unavailable.
func (r *readiness) wait(ctx context.Context, checkStore func() error) error {
	r.mu.Lock()
	c := r.last
	if c == nil || c.stale() {
		c = &check{done: make(chan struct{})}
		r.last = c
		go func() { // not with this probe's context, because other probes wait for the same check
			c.err, c.ended = checkStore(), time.Now()
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

// stale reports whether the check has ended and its result is too old to be reused.
func (c *check) stale() bool {
	select {
	case <-c.done:
		return time.Since(c.ended) > checkReuse
	default:
		return false
	}
}
