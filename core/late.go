package core

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
)

// lates releases permits whose acquire got no answer, or whose observer panicked. The caller has no permit, so nobody
// else can release it, and it would stay held until its lease ends. A store behind the fallback layer does the same;
// two releases do no harm.
type lates struct {
	mu     sync.Mutex
	closed bool
	count  int
}

// mostLate bounds the permits that are being released. Beyond it, they stay held until their lease ends.
const mostLate = 1000

// releaseLate releases the permits of an acquire or a reserve in the background, if the store may have granted them. It
// stops when the limiter is closed. The acquire may reach the store after a release, so releases are repeated until one
// finds the permit or the lease time has passed.
func (l *Limiter) releaseLate(op *engine.Op, err error) {
	if !errors.Is(err, engine.ErrOutcomeUnknown) {
		return
	}
	acquire, ok := op.Acquires()
	if !ok || !l.lates.enter() {
		return
	}
	release := acquire.Clone()
	release.Kind = engine.OpRelease
	for i := range release.Charges {
		release.Charges[i].Report = nil
	}
	l.watching.Go(func() {
		defer l.lates.leave()
		l.repeatRelease(release, time.Now().Add(engine.LeaseOf(release.Charges)))
	})
}

// enter reports whether there is room for another release. After close there is none, so that no release begins while
// the limiter waits for them.
func (a *lates) enter() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.count == mostLate {
		return false
	}
	a.count++
	return true
}

func (a *lates) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count--
}

func (a *lates) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
}

// repeatRelease releases permits until a release finds them, their lease has ended, or the limiter is closed.
func (l *Limiter) repeatRelease(release engine.Op, ends time.Time) {
	own, cancel := context.WithDeadline(context.Background(), ends)
	defer cancel()
	go func() {
		select {
		case <-l.done:
			cancel()
		case <-own.Done():
		}
	}()
	for pause := shortestPause; own.Err() == nil; pause = min(2*pause, longestPause) {
		if l.releasedOnce(own, release) {
			l.lines.pausing.WakeAll(subject{release.Space, release.Key})
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-own.Done():
			timer.Stop()
		}
	}
}

// releasedOnce sends one release, and reports whether it found the permits.
func (l *Limiter) releasedOnce(ctx context.Context, release engine.Op) bool {
	attempt, cancel := context.WithTimeout(ctx, undoWithin)
	defer cancel()
	a := make([]engine.Answer, 1)
	l.run(attempt, []engine.Op{release}, a) // no caller's, so the observer does not get it
	return a[0].Err == nil && a[0].Found
}
