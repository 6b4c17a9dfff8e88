package headgate

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
)

// The first waiting caller of a key calls the store again after a pause, which doubles with each denial from the
// shortest to the longest. A release in this process ends the pause.
const (
	shortestPause = 5 * time.Millisecond
	longestPause  = time.Second
)

// Hold waits until n units of the policy's concurrency limits are free, acquires them, and renews them in the
// background as [Permit.Hold] does. Run the work that needs the units under the returned context: it is cancelled,
// with the cause [ErrPermitLost], as soon as the units are lost or may be lost. Call [Permit.Release] at the end.
// When ctx ends, the units are no longer renewed.
//
// Within a process, callers of one key under the same limits are served in order of arrival. Only the first calls the
// store: when a permit expires, after a pause of at most one second, and immediately when this process releases
// units. There is no order among processes.
//
// The error is ctx's own if it ends before units are free. It matches [ErrDenied] if n exceeds the limit. Other
// errors are the same as from [Limiter.Allow].
func (p *Policy) Hold(ctx context.Context, key string, n int64) (context.Context, *Permit, error) {
	permit := &Permit{policy: p, key: strings.Clone(key), id: rand.Text(), units: n}
	w, err := p.limiter.lines.join(ctx, p.line(permit.key))
	if err != nil {
		return nil, nil, err
	}
	err = permit.await(ctx)
	w.leave()
	if err != nil {
		return nil, nil, err
	}
	return permit.Hold(ctx), permit, nil
}

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
