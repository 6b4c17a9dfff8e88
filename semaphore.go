package headgate

import (
	"context"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
)

// Semaphore is a [ConcurrencyLimit] with a name, bound to a limiter. For each key, it bounds the units that callers hold at
// the same time, in all processes that share the store. It is safe for concurrent use. Its methods return the same
// errors as a [Policy]. A semaphore and a policy with the same name have separate counters.
type Semaphore struct{ policy *Policy }

// Semaphore returns a semaphore of this limiter. The name must be valid for a policy. If the name or the limit is
// invalid, every method returns the error of [Semaphore.Err]; [Must] panics with it.
//
// A second semaphore of the limiter with the same name must have the same limit, unless it is made by [Semaphore.With].
func (l *Limiter) Semaphore(name string, limit ConcurrencyLimit) *Semaphore {
	rule := heldRule(limit)
	if name == "" {
		rule = engine.Invalid(engine.CheckPolicyName(name))
	}
	l = l.orBroken()
	s := l.SemaphoreOf(name, rule)
	l.names.add(s.policy)
	return s
}

// With returns a semaphore with the same name and another limit: see [Policy.With].
func (s *Semaphore) With(limit ConcurrencyLimit) *Semaphore {
	p := s.of()
	return &Semaphore{p.on(p.core.With(heldRule(limit)))}
}

// heldRule returns the engine's limit for a semaphore.
func heldRule(limit ConcurrencyLimit) engine.Limit {
	if engine.IsNil(limit) {
		return engine.Invalid(missing("limit", "a Concurrency or FairConcurrency"))
	}
	return limit.concurrency()
}

// SemaphoreOf returns a semaphore with limits of package engine: see [Limiter.PolicyOf].
func (l *Limiter) SemaphoreOf(name string, limits ...engine.Limit) *Semaphore {
	p := l.PolicyOf(name, limits...)
	p.kind = "semaphore"
	return &Semaphore{p}
}

// Core returns what the semaphore stands on: see [Limiter.Core].
func (s *Semaphore) Core() *core.Policy { return s.of().core }

// Err returns an error if the name, the limit or an option of the limiter is invalid. It names the semaphore and
// matches [ErrInvalid]. Every other method then returns the same error.
func (s *Semaphore) Err() error { return s.of().Err() }

// Acquire waits until n units of the key are free, and takes them for the lease time, which [Permit.Renew] and
// [Permit.Hold] extend. Call [Permit.Release] at the end.
//
// Within a process, callers of one key are served in order of arrival. Only the first of them calls the store. It
// calls again when a permit expires or after a pause of at most one second, whichever comes first, and immediately
// when this process releases units. There is no order among processes.
//
// If ctx ends before the units are free, Acquire returns the error of ctx. The error matches [ErrDenied] if n exceeds
// the limit, and [ErrStoreUnavailable] if 100 000 callers of this process already wait for the key.
func (s *Semaphore) Acquire(ctx context.Context, key string, n int64) (*Permit, error) {
	p := s.of()
	permit, err := p.core.Acquire(ctx, key, n)
	if err != nil {
		return nil, p.named(err)
	}
	return (*Permit)(permit), nil
}

// TryAcquire takes n units of the key for the lease time, or denies at once. On a denial the permit is nil, and
// RetryAfter is the time until enough permits expire; a release may free units earlier.
func (s *Semaphore) TryAcquire(ctx context.Context, key string, n int64) (*Permit, Decision, error) {
	p := s.of()
	permit, a := p.core.TryAcquire(ctx, key, n)
	if permit == nil {
		return nil, p.decision(&a), p.named(a.Err)
	}
	return (*Permit)(permit), p.decision(&a), nil
}

// Peek returns the decision that TryAcquire would make, and writes nothing: Remaining is the number of free units.
func (s *Semaphore) Peek(ctx context.Context, key string, n int64) (Decision, error) {
	return s.of().Peek(ctx, key, n)
}

// Reset ends all permits of the key, and reports whether there were any.
func (s *Semaphore) Reset(ctx context.Context, key string) (found bool, err error) {
	return s.of().Reset(ctx, key)
}
