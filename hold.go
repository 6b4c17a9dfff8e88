package headgate

import (
	"context"
	"errors"
	"time"

	"github.com/headgate/headgate/engine"
)

// The first waiting caller of a key calls the store again after a pause, which doubles with each denial from the
// shortest to the longest. A release in this process ends the pause.
const (
	shortestPause = 5 * time.Millisecond
	longestPause  = time.Second
)

// await calls the store until the units are acquired. Its caller is the first of the line.
func (p *Permit) await(ctx context.Context) error {
	freed, leave := p.policy.limiter.lines.freed(subject{p.policy.space, p.key})
	defer leave()
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		d, err := p.extend(ctx, engine.OpAcquire)
		switch {
		case errors.Is(err, ErrOutcomeUnknown):
			p.giveUp(ctx)
			return err
		case err != nil || d.Allowed:
			return err
		case d.RetryAfter == Never:
			return d.Err()
		}
		woken, err := p.pause(ctx, freed, min(d.RetryAfter, pause-jitter(25*pause)))
		if err != nil {
			return err
		}
		if woken {
			pause = shortestPause
		}
	}
}

// pause waits, or returns early if this process releases units.
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
		return false, ErrClosed
	}
}

// giveUp releases units that may have been acquired.
func (p *Permit) giveUp(ctx context.Context) {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	_ = p.Release(own) // if that fails, the units are free after the lease time
}
