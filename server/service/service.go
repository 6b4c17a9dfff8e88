// Package service decides requests for every front end: it knows names,
// policies and failure modes, and no wire format.
//
//	request.go   what front ends ask, and what they are answered
//	service.go   a batch of requests → operations → the store → answers
//	decide.go    one request → its operations; their results → one answer
//	ready.go     whether new requests should be sent here
package service

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/server/policy"
)

// Inline is the space of limits that come with the request: CL.THROTTLE's and
// HTTP's share their counters.
const Inline = "inline"

// Config sets up a service.
type Config struct {
	// Limiter decides.
	Limiter *headgate.Limiter
	// Policies are the named limits; nil has none.
	Policies *policy.Set
	// Failure is what limits that come with the request answer when the
	// decision is not known. Policies have their own.
	Failure policy.Failure
	// AllowWrites lets clients give units back and reset keys. Without it
	// those answer ErrWritesOff, because whoever may ask could reset himself.
	AllowWrites bool
	// Watcher hears of the store's failures and of their end; nil for none.
	Watcher Watcher
	// CheckStore makes readiness depend on the store, as long as Failure or a
	// policy's failure mode is deny. Without it only a drain ends readiness.
	CheckStore bool
	// Deadline bounds each call: it has the smaller of this and three quarters
	// of what its context leaves. 0 leaves the context as it is.
	Deadline time.Duration
}

// Watcher hears how the store does. Its methods are called while clients wait,
// by many goroutines.
type Watcher interface {
	// Failed is called for each decision that is not known, whatever the client
	// is answered instead.
	Failed(err error)
	// Away reports whether the store has failed and not answered since.
	Away() bool
	// Answered is called when the store answers a call that began while Away
	// was true.
	Answered()
}

// Service decides batches of requests. It is safe for use by many goroutines.
type Service struct {
	config     Config
	needsStore bool
	readiness  readiness
	draining   atomic.Bool
}

// New returns a service.
func New(c Config) *Service {
	return &Service{config: c, needsStore: needsStore(&c)}
}

// Policies returns the named limits.
func (s *Service) Policies() *policy.Set { return s.config.Policies }

// AllowWrites reports whether give and reset are on.
func (s *Service) AllowWrites() bool { return s.config.AllowWrites }

// batch is the memory of one call, reused.
type batch struct {
	ops     []engine.Op
	results []headgate.Result
	charges []engine.Charge
	found   []policy.Charge // of the request being resolved
	plans   []plan
}

var batches = sync.Pool{New: func() any { return new(batch) }}

func (b *batch) free() {
	clear(b.ops)
	clear(b.results)
	clear(b.charges)
	clear(b.found)
	clear(b.plans)
	b.ops, b.results, b.charges = b.ops[:0], b.results[:0], b.charges[:0]
	b.found, b.plans = b.found[:0], b.plans[:0]
	batches.Put(b)
}

// Do decides the requests in order and puts the answers into responses, which
// is as long. Neither is kept; keys may be parts of a buffer that is reused
// after Do returns.
func (s *Service) Do(ctx context.Context, requests []Request, responses []Response) {
	b := batches.Get().(*batch)
	defer b.free()
	b.reserve(len(requests))
	for i := range requests {
		b.plans = append(b.plans, s.resolve(b, &requests[i]))
	}
	if cap(b.results) < len(b.ops) {
		b.results = make([]headgate.Result, len(b.ops))
	}
	b.results = b.results[:len(b.ops)]
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	s.ask(ctx, b.ops, b.results)
	for i := range requests {
		responses[i] = s.answer(b, &requests[i], &b.plans[i])
	}
}

// bounded returns the context under which the store is asked.
func (s *Service) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.config.Deadline <= 0 {
		return ctx, func() {}
	}
	left := s.config.Deadline
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline)*3/4)
	}
	return context.WithTimeout(ctx, left)
}

// reserve makes room for charges beforehand: operations hold slices of them, so
// they must not move while requests are resolved. Requests with more limits get
// slices of their own.
func (b *batch) reserve(requests int) {
	if cap(b.charges) < requests {
		b.charges = make([]engine.Charge, 0, requests)
	}
}

// ask has the store decide the operations and tells the watcher how it did. A
// call that began before the store failed says nothing about its return.
func (s *Service) ask(ctx context.Context, ops []engine.Op, results []headgate.Result) {
	watcher := s.config.Watcher
	away := watcher != nil && watcher.Away()
	for from := 0; from < len(ops); from += engine.MaxOps {
		to := min(from+engine.MaxOps, len(ops))
		s.config.Limiter.Do(ctx, ops[from:to], results[from:to])
	}
	if watcher == nil {
		return
	}
	answered, failed := false, false
	for i := range results {
		switch err := results[i].Err; {
		case err == nil:
			answered = answered || away && fromStore(&ops[i], &results[i])
		case storeFailed(err):
			failed = true
			watcher.Failed(err)
		}
	}
	if answered && !failed {
		watcher.Answered()
	}
}

// storeFailed reports whether an error is the store's: not one of the request,
// of a client that hung up, or of a server that stops.
func storeFailed(err error) bool {
	return classify(err).Code == Unavailable && !errors.Is(err, context.Canceled) && !errors.Is(err, headgate.ErrClosed)
}

// fromStore reports whether the store itself gave the result: not a layer that
// repeats or has prefetched it, nor a limit that needs no state.
func fromStore(op *engine.Op, r *headgate.Result) bool {
	if mode := r.Decision.Promise.Mode; mode != engine.Exact && mode != engine.Split {
		return false
	}
	for i := range op.Charges {
		if a := op.Charges[i].Limit.Algorithm(); a != algo.DenyAll && a != algo.Unlimited {
			return true
		}
	}
	return false
}
