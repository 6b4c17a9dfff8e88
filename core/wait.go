package core

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"github.com/headgate/headgate/engine"
)

// DeniedError is a denial that ends a wait: the units can never pass, or not before the caller's deadline.
type DeniedError struct {
	// Answer is the denial.
	Answer engine.Answer
	// Cause is [context.DeadlineExceeded] for a wait that would end after the deadline. Otherwise it is nil.
	Cause error
}

func (e *DeniedError) Error() string { return "headgate: denied" }

// Unwrap returns the cause.
func (e *DeniedError) Unwrap() error { return e.Cause }

// Wait charges the key the given units as soon as they pass, and then returns. It returns earlier with an error if ctx
// ends, and with a [*DeniedError] if the wait would end after the deadline.
//
// With token buckets and pacers it reserves the units and returns at the reserved slot, so no caller of any process
// overtakes another. With other limits it holds nothing while it waits; callers of one key and one process pass in order
// of arrival.
func (p *Policy) Wait(ctx context.Context, key string, units int64) engine.Answer {
	if p.limiter.invalid != nil || ctx == nil {
		return engine.Answer{Err: cmp.Or(p.limiter.invalid, errNoContext)}
	}
	lines := &p.limiter.lines
	if lines.None(p.line(key)) {
		if t := p.take(ctx, key, units); t.answer.Err != nil || t.answer.Allowed {
			return p.slot(ctx, key, units, &t)
		}
	}
	w, err := lines.join(ctx, p.line(key))
	if err != nil {
		return engine.Answer{Err: err}
	}
	t := p.served(ctx, w, key, units)
	return p.slot(ctx, key, units, &t)
}

// served is first, after which the next caller of the line becomes the first one, also if the observer panics.
func (p *Policy) served(ctx context.Context, w *waiter, key string, n int64) reserved {
	defer w.leave()
	return p.first(ctx, w, key, n)
}

// take charges the units or reserves them. If the reserved slot is after the deadline, take returns an error. A denial by
// a share has a delay too, because a share reserves nothing ahead.
func (p *Policy) take(ctx context.Context, key string, n int64) (t reserved) {
	if n < 1 || !p.reserves() {
		return p.charge(ctx, key, n)
	}
	t = p.limiter.turns.reserve(ctx, p, key, n)
	if a := &t.answer; a.Err == nil && !a.Allowed && a.Delay > 0 && a.Promise.Mode != engine.Fallback {
		a.Err = tooLate(a, a.Delay)
	}
	return t
}

// reserves reports whether Wait reserves units ahead. It does if one of the policy's limits paces requests, or if
// all of them support delayed reservations and the policy charges all of them.
func (p *Policy) reserves() bool {
	all := true
	for i := range p.limits {
		all = all && p.limits[i].Numbers().Delays()
	}
	return p.paces || all && len(p.limits) > 0 && !p.firstPays
}

// longestUnsure is the longest wait after a denial without the store, which may be back before the share has refilled.
const longestUnsure = 5 * time.Second

// first calls the store until the units pass. Only the first caller of a line runs it.
func (p *Policy) first(ctx context.Context, w *waiter, key string, n int64) reserved {
	if wait := w.line.wait(p.limits, n); wait > 0 {
		if err := p.sleep(ctx, w, wait, &w.line.last); err != nil {
			return notReserved(err)
		}
	}
	for {
		t := p.take(ctx, key, n)
		a := &t.answer
		w.line.answered(a)
		if a.Err != nil || a.Allowed {
			return t
		}
		wait := a.Binds().RetryAfter
		if wait == engine.Never {
			return notReserved(&DeniedError{Answer: *a})
		}
		if a.Promise.Mode == engine.Fallback {
			wait = min(wait, longestUnsure)
		}
		if err := p.sleep(ctx, w, wait+jitter(wait), a); err != nil {
			return notReserved(err)
		}
	}
}

// jitter returns a random part of a wait, at most 2 % and at most 1.2 s, so that processes do not call at the same
// instant.
func jitter(wait time.Duration) time.Duration {
	return time.Duration(rand.Int64N(max(1, int64(min(wait, time.Minute)/50)))) //nolint:gosec // no secret
}

// sleep waits for the given time. It fails at once if the deadline is too early.
func (p *Policy) sleep(ctx context.Context, w *waiter, wait time.Duration, a *engine.Answer) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		return tooLate(a, wait)
	}
	w.until(wait, a)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.limiter.done:
		return engine.ErrClosed
	}
}

// tooLate returns the error for a wait that ends after the deadline.
func tooLate(a *engine.Answer, wait time.Duration) error {
	denied := a.Clone()
	denied.Err, denied.Allowed, denied.Binds().RetryAfter = nil, false, wait
	return &DeniedError{Answer: denied, Cause: context.DeadlineExceeded}
}
