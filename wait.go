package headgate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// Wait charges the key one unit as soon as that passes, and returns then. See
// [Policy.WaitN].
func (p *Policy) Wait(ctx context.Context, key string) (Decision, error) { return p.WaitN(ctx, key, 1) }

// WaitN charges the key n units as soon as they pass, and returns then, or when ctx ends.
//
// It holds nothing while it waits: another process can be faster, and then it waits on.
// Within a process the callers of one policy and key wait in a line, and only the first
// asks the store. Under a [Pacer] it returns in the slot that the store has given it; the
// gaps are those of the store's clock, so calls can start a little later than their slot.
//
// It fails at once if the deadline of ctx is nearer than the wait: the error matches
// [ErrDenied] and [context.DeadlineExceeded]. It also matches ErrDenied if n units can
// never pass. Other errors are those of [Limiter.Allow]; Wait does not retry them. A
// caller of a pacer that gives up in its last sleep leaves its slot unused, because later
// callers have theirs already.
//
// With 10 a second and burst 1, ten callers that come at once return after 0, 100, …,
// 900 ms.
func (p *Policy) WaitN(ctx context.Context, key string, n int64) (Decision, error) {
	lines := &p.limiter.lines
	name := lineName{space: p.space, key: key}
	if lines.none(name) {
		if d, err := p.take(ctx, key, n); err != nil || d.Allowed {
			return p.slot(ctx, d, err)
		}
	}
	w, err := lines.join(ctx, name)
	if err != nil {
		return Decision{}, err
	}
	d, err := p.first(ctx, w, key, n)
	w.leave()
	return p.slot(ctx, d, err)
}

// take is AllowN, but that it charges nothing where the slot of a pacer is later than the
// deadline.
func (p *Policy) take(ctx context.Context, key string, n int64) (Decision, error) {
	if deadline, ok := ctx.Deadline(); ok && p.paces() {
		d, err := p.Peek(ctx, key, n)
		if err == nil && d.Allowed && d.Delay > time.Until(deadline) {
			return d, tooLate(&d, d.Delay)
		}
	}
	return p.AllowN(ctx, key, n)
}

func (p *Policy) paces() bool {
	for i := range p.limits {
		if p.limits[i].Algorithm() == algo.Pacer {
			return true
		}
	}
	return false
}

// first asks until the units pass. Its caller is the first of the line.
func (p *Policy) first(ctx context.Context, w *waiter, key string, n int64) (Decision, error) {
	if wait := w.line.wait(p.limits, n); wait > 0 {
		if err := p.sleep(ctx, w, wait, &w.line.last); err != nil {
			return Decision{}, err
		}
	}
	for {
		d, err := p.take(ctx, key, n)
		w.line.answered(&d)
		switch {
		case err != nil || d.Allowed:
			return d, err
		case d.RetryAfter == Never:
			return Decision{}, d.Err()
		}
		if err := p.sleep(ctx, w, d.RetryAfter+jitter(d.RetryAfter), &d); err != nil {
			return Decision{}, err
		}
	}
}

// jitter returns up to a fiftieth of a wait, so that processes do not ask at one instant.
func jitter(wait time.Duration) time.Duration {
	return time.Duration(rand.Int64N(max(1, int64(min(wait, time.Minute)/50)))) //nolint:gosec // no secret
}

// sleep waits for a time, unless the deadline is nearer.
func (p *Policy) sleep(ctx context.Context, w *waiter, wait time.Duration, d *Decision) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		return tooLate(d, wait)
	}
	if w != nil {
		w.until(wait, d)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.limiter.done:
		return ErrClosed
	}
}

// slot sleeps until the slot of an admitted caller.
func (p *Policy) slot(ctx context.Context, d Decision, err error) (Decision, error) {
	if err != nil || d.Delay == 0 {
		return d, err
	}
	return d, p.sleep(ctx, nil, d.Delay, &d)
}

// tooLate is the error of a wait that ends after the deadline.
func tooLate(d *Decision, wait time.Duration) error {
	denied := *d
	denied.Allowed, denied.RetryAfter = false, wait
	return fmt.Errorf("%w: %w", &DeniedError{Decision: denied}, context.DeadlineExceeded)
}
