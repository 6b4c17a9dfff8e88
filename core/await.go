package core

import (
	"context"
	"errors"
	"time"

	"github.com/headgate/headgate/engine"
)

// The first waiting caller of a key pauses between calls to the store. The pause starts at shortestPause and doubles
// with each denial up to longestPause. It ends earlier if a permit expires, or if this process releases units of the
// key.
const (
	shortestPause = 5 * time.Millisecond
	longestPause  = time.Second
)

// await calls the store until it grants the units. Only the first caller of a line runs it.
func (p *Permit) await(ctx context.Context) error {
	freed, leave := p.policy.limiter.lines.freed(subject{p.policy.space, p.key})
	defer leave()
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		a := p.extend(ctx, engine.OpAcquire)
		if left := ctx.Err(); left != nil && (errors.Is(a.Err, engine.ErrOutcomeUnknown) || errors.Is(a.Err, engine.ErrStoreUnavailable)) {
			return left // releaseLate gives back what the caller may have got
		}
		if a.Err != nil || a.Allowed {
			return a.Err
		}
		wait := a.Binds().RetryAfter
		if wait == engine.Never {
			return &DeniedError{Answer: a}
		}
		woken, err := p.pause(ctx, freed, min(wait, pause-jitter(25*pause)))
		if err != nil {
			return err
		}
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
