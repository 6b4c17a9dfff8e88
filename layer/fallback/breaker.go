package fallback

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
)

const (
	// failures is the number of consecutive failed calls that opens the breaker. The breaker opens only if the first
	// of these failures is old enough: at least stall times the allowed answer time. A short stall of the machine, when
	// all calls fail, therefore does not count as an outage.
	failures = 5
	stall    = 4
	// answers is the number of consecutive tests that the store must pass before it is used again.
	answers = 3
	// pause and longestPause bound the time between two tests, which doubles after each failure.
	pause        = 50 * time.Millisecond
	longestPause = 400 * time.Millisecond
)

// breaker decides whether calls go to a lane of the store. While the breaker is open, no calls go to its lane, so that
// no caller waits for a store that is unavailable. The store is tested in the background.
type breaker struct {
	open    atomic.Bool
	outages atomic.Int64
	cause   atomic.Pointer[error] // error of the last failed call; nil after an answered call
	row     atomic.Int64          // failed calls since the last answer
	since   atomic.Int64          // when the first of them failed, in ns since 1970
	slow    time.Duration
	opened  chan struct{}
	away    *atomic.Int32 // counts open breakers
	// back is called when the store answers after a failure. It must not block.
	back func()
	// changed is called in the background after the breaker has opened or closed.
	changed func(cause error)
	// flushOutbox sends the store its owed operations before the breaker closes.
	flushOutbox func(life context.Context)
	// probe tests the store.
	probe func(ctx context.Context) error
}

// answered is called after each call that the store answered.
func (b *breaker) answered() {
	if b.row.Load() != 0 || b.cause.Load() != nil {
		b.row.Store(0)
		b.cause.Store(nil)
		b.back()
	}
}

// failed is called after a call that the store did not answer. inPart means that the store answered a part of the
// call, so other nodes of a Cluster may still be up.
func (b *breaker) failed(err error, inPart bool) {
	b.cause.Store(&err)
	if inPart {
		b.row.Store(0)
		return
	}
	row, now := b.row.Add(1), time.Now().UnixNano()
	if row == 1 {
		b.since.Store(now)
	}
	if row >= failures && now-b.since.Load() >= int64(stall*b.slow) && b.open.CompareAndSwap(false, true) {
		b.outages.Add(1)
		b.away.Add(1)
		b.opened <- struct{}{}
	}
}

// unavailable returns the error for an operation that was not sent because the breaker is open.
func (b *breaker) unavailable() error {
	cause := b.cause.Load()
	if cause == nil {
		return engine.ErrStoreUnavailable
	}
	return &notSent{*cause}
}

// notSent is the error of an operation that was not sent because earlier calls failed. It has the text of the last
// failure, but does not wrap it, because the failure may be [engine.ErrOutcomeUnknown].
type notSent struct{ cause error }

// Error returns the text with the last failure.
func (e *notSent) Error() string {
	unavailable := engine.ErrStoreUnavailable.Error()
	return unavailable + ": not sent, because calls fail: " + strings.TrimPrefix(e.cause.Error(), unavailable+": ")
}

// Public returns the text for clients, without the store's address.
func (e *notSent) Public() string {
	if p, ok := errors.AsType[interface {
		error
		Public() string
	}](e.cause); ok {
		return p.Public()
	}
	return engine.ErrStoreUnavailable.Error()
}

// Unwrap returns [engine.ErrStoreUnavailable].
func (e *notSent) Unwrap() error { return engine.ErrStoreUnavailable }

// run probes the store whenever the breaker has opened, until life ends.
func (b *breaker) run(life context.Context) {
	for {
		select {
		case <-life.Done():
			return
		case <-b.opened:
			b.test(life)
		}
	}
}

// test tests the store until it passes several times in a row, and then closes the breaker.
func (b *breaker) test(life context.Context) {
	b.changed(b.unavailable())
	for wait, passed := pause, 0; passed < answers; {
		select {
		case <-life.Done():
			return
		case <-time.After(wait + rand.N(wait/2)): //nolint:gosec // no secret
		}
		ctx, cancel := context.WithTimeout(life, b.slow)
		err := b.probe(ctx)
		cancel()
		if err != nil {
			b.cause.Store(&err)
			wait, passed = min(2*wait, longestPause), 0
			continue
		}
		wait, passed = pause, passed+1
	}
	b.flushOutbox(life)
	b.answered()
	b.open.Store(false)
	b.away.Add(-1)
	b.changed(nil)
}
