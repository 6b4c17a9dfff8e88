package headgate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Wait charges the key one unit as soon as it passes, and then returns. See [Policy.WaitN].
func (p *Policy) Wait(ctx context.Context, key string) (Decision, error) { return p.WaitN(ctx, key, 1) }

// WaitN charges the key n units as soon as they pass, and then returns. It also returns when ctx ends.
//
// With token buckets and pacers, WaitN reserves the units and returns at the reserved slot, so no caller of any process
// overtakes another. The gaps between slots are measured by the store's clock, so calls can start a little later than
// their slots. With other limits WaitN holds nothing while it waits, so a caller in another process can overtake it.
// Within a process, callers of one key under the same limits pass in order of arrival. A pacer's MaxWait and MaxQueue
// do not bound the waiting callers: those that do not fit into its queue wait in the process.
//
// WaitN fails at once if the wait would end after the deadline of ctx: the error matches [ErrDenied] and
// [context.DeadlineExceeded]. It also fails with ErrDenied if n units can never pass. The error matches
// [ErrStoreUnavailable] if 100 000 callers of this process already wait for the key. It returns other errors as
// [Policy] does, without retrying. If the caller gives up, its units are given back within a second, as with
// [Reservation.Cancel]; if a call is in flight at that time, within a second after its answer.
//
// With 10 a second and burst 1, ten callers that arrive at once return after 0, 100, …, 900 ms.
func (p *Policy) WaitN(ctx context.Context, key string, n int64) (Decision, error) {
	p = p.orBroken()
	if ctx == nil {
		return Decision{}, p.named(errNoContext)
	}
	d, err := p.wait(ctx, key, n)
	return d, p.named(err)
}

func (p *Policy) wait(ctx context.Context, key string, n int64) (Decision, error) {
	lines := &p.limiter.lines
	if lines.None(p.line(key)) {
		if t := p.take(ctx, key, n); t.err != nil || t.decision.Allowed {
			return p.slot(ctx, key, n, t)
		}
	}
	w, err := lines.join(ctx, p.line(key))
	if err != nil {
		return Decision{}, err
	}
	t := p.first(ctx, w, key, n)
	w.leave()
	return p.slot(ctx, key, n, t)
}

// take charges the units or reserves them. If the reserved slot is after the deadline, take returns an error.
func (p *Policy) take(ctx context.Context, key string, n int64) (t reserved) {
	if n == 0 || !p.reserves() {
		return p.charge(ctx, key, n)
	}
	t = p.limiter.turns.reserve(ctx, p, key, n)
	if d := &t.decision; t.err == nil && !d.Allowed && d.Delay > 0 {
		t.err = tooLate(d, d.Delay)
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

// first calls the store until the units pass. Only the first caller of a line runs it.
func (p *Policy) first(ctx context.Context, w *waiter, key string, n int64) reserved {
	if wait := w.line.wait(p.limits, n); wait > 0 {
		if err := p.sleep(ctx, w, wait, &w.line.last); err != nil {
			return reserved{err: err}
		}
	}
	for {
		t := p.take(ctx, key, n)
		d := &t.decision
		w.line.answered(d)
		switch {
		case t.err != nil || d.Allowed:
			return t
		case d.RetryAfter == Never:
			return reserved{err: d.Err()}
		}
		if err := p.sleep(ctx, w, d.RetryAfter+jitter(d.RetryAfter), d); err != nil {
			return reserved{err: err}
		}
	}
}

// jitter returns a random part of a wait, at most 2 % and at most 1.2 s, so that processes do not call at the same
// instant.
func jitter(wait time.Duration) time.Duration {
	return time.Duration(rand.Int64N(max(1, int64(min(wait, time.Minute)/50)))) //nolint:gosec // no secret
}

// sleep waits for the given time. It fails at once if the deadline is too early.
func (p *Policy) sleep(ctx context.Context, w *waiter, wait time.Duration, d *Decision) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		return tooLate(d, wait)
	}
	w.until(wait, d)
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

// tooLate returns the error for a wait that ends after the deadline.
func tooLate(d *Decision, wait time.Duration) error {
	denied := *d
	denied.Allowed, denied.RetryAfter = false, wait
	return fmt.Errorf("%w: %w", &DeniedError{Decision: denied}, context.DeadlineExceeded)
}
