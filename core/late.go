package core

import (
	"context"
	"errors"
	"time"

	"github.com/headgate/headgate/engine"
)

// mostLate bounds the permits that are being released by releaseLate. Beyond it, they stay held until their lease ends.
const mostLate = 1000

// releaseLate releases the permits of an acquire or a reserve in the background, if the store may have granted them: the
// caller got no answer, so nobody else can release them. The acquire may reach the store after a release, so releases
// are repeated until one finds the permit, the lease time has passed, or the limiter is closed. A store behind the
// fallback layer does the same; two releases do no harm.
func (l *Limiter) releaseLate(op *engine.Op, err error) {
	if !errors.Is(err, engine.ErrOutcomeUnknown) {
		return
	}
	acquire, ok := op.Acquires()
	if !ok {
		return
	}
	select {
	case l.late <- struct{}{}:
	default:
		return
	}
	release := acquire.Clone()
	release.Kind = engine.OpRelease
	for i := range release.Charges {
		release.Charges[i].Report = nil
	}
	ends := time.After(engine.LeaseOf(release.Charges))
	go func() {
		defer func() { <-l.late }()
		for pause := shortestPause; !l.releasedOnce(release); pause = min(2*pause, longestPause) {
			select {
			case <-time.After(pause):
			case <-ends:
				return
			case <-l.done:
				return
			}
		}
		l.lines.pausing.WakeAll(subject{release.Space, release.Key})
	}()
}

// releasedOnce sends one release, and reports whether it found the permits.
func (l *Limiter) releasedOnce(release engine.Op) bool {
	ctx, cancel := context.WithTimeout(context.Background(), undoWithin)
	defer cancel()
	a := l.Decide(ctx, release)[0]
	return a.Err == nil && a.Found
}
