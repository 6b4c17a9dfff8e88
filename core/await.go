package core

import (
	"context"
	"errors"
	"time"

	"github.com/headgate/headgate/engine"
)

// The first waiting caller of a key pauses between calls to the store. The pause starts at shortestPause and doubles
// with each denial up to longestPause. Until the oldest permit has been the same for busy, it is at most busyPause. It ends
// earlier if a permit expires, or if this process releases units of the key.
const (
	shortestPause = 5 * time.Millisecond
	busyPause     = 50 * time.Millisecond
	busy          = 500 * time.Millisecond
	longestPause  = time.Second
	// pausePerKey bounds the calls of a process to 500 a second, however many keys its callers wait for.
	pausePerKey = 2 * time.Millisecond
)

// await calls the store until it grants the units. Only the first caller of a line runs it.
func (p *Permit) await(ctx context.Context, w *waiter) error {
	freed, leave := w.lines.freed(w.name.subject)
	defer leave()
	pause, began := shortestPause, time.Now()
	for expires, changed := began, began; ; {
		if left := w.yields(); left > 0 {
			if _, err := p.pause(ctx, nil, left); err != nil {
				return err
			}
		}
		a := p.extend(ctx, engine.OpAcquire)
		if left := ctx.Err(); left != nil && (errors.Is(a.Err, engine.ErrOutcomeUnknown) || errors.Is(a.Err, engine.ErrStoreUnavailable)) {
			return left // releaseLate gives back what the caller may have got
		}
		w.answered(a.Allowed)
		if a.Err != nil || a.Allowed {
			return a.Err
		}
		wait := a.Binds().RetryAfter
		if wait == engine.Never {
			return &DeniedError{Answer: a}
		}
		now := time.Now()
		if next := now.Add(wait); next.Sub(expires).Abs() > handover { // the oldest permit is another one
			expires, changed = next, now
		}
		if now.Sub(changed) < busy {
			pause = min(pause, w.lines.busyPause(now.Sub(began)))
		}
		woken, err := p.pause(ctx, freed, min(wait, pause-jitter(25*pause)))
		if err != nil {
			return err
		}
		pause = min(2*pause, longestPause)
		if woken {
			pause = shortestPause
		}
	}
}

// pause waits for the given time. If this process releases units of the key, it returns early and sets woken. If ctx
// ends or the limiter is closed, it returns early with an error.
func (p *Permit) pause(ctx context.Context, freed <-chan struct{}, wait time.Duration) (woken bool, err error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false, nil
	case <-freed:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case <-p.policy.limiter.done:
		return false, engine.ErrClosed
	}
}
