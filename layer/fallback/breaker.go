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
	// failures is the number of consecutive calls without an answer after which the store is suspected and tested.
	failures = 2
	// stall is how long the tests of a suspected store must fail before the breaker opens, in times the allowed answer
	// time. A short stall of the machine, when all calls fail, therefore does not count as an outage.
	stall = 4
	// answers is the number of consecutive tests that the store must pass before it is used again.
	answers = 3
	// pause and longestPause bound the time between two tests, which doubles after each failure. After a test that
	// clears the store of a suspicion, the next one is at least longestPause later.
	pause        = 50 * time.Millisecond
	longestPause = 400 * time.Millisecond
)

// breaker decides whether calls go to a lane of the store. While the breaker is open, no calls go to its lane, so that
// no caller waits for a store that is unavailable. The store is tested in the background. Only these tests open and
// close the breaker: callers' deadlines may be too short for a healthy store, and callers may leave before a hung store
// could have answered.
type breaker struct {
	open    atomic.Bool
	outages atomic.Int64
	cause   atomic.Pointer[error] // error of the last failed call; nil after an answered call
	row     atomic.Int64          // calls without an answer since the last answer
	slow    time.Duration
	suspect chan struct{}
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
	b.unanswered()
}

// unanswered is called after a call that had no answer when its caller left, or that failed.
func (b *breaker) unanswered() {
	if b.row.Add(1) >= failures {
		b.suspected()
	}
}

// suspected starts a test of the store, unless one runs.
func (b *breaker) suspected() {
	select {
	case b.suspect <- struct{}{}:
	default:
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

// Name returns the class of the last failure, or "" if it has none.
func (e *notSent) Name() string {
	if n, ok := errors.AsType[interface {
		error
		Name() string
	}](e.cause); ok {
		return n.Name()
	}
	return ""
}

// Unwrap returns [engine.ErrStoreUnavailable].
func (e *notSent) Unwrap() error { return engine.ErrStoreUnavailable }

// run tests the store whenever it is suspected, until life ends.
func (b *breaker) run(life context.Context) {
	for {
		select {
		case <-life.Done():
			return
		case <-b.suspect:
		}
		if b.confirm(life) {
			b.open.Store(true)
			b.outages.Add(1)
			b.away.Add(1)
			b.test(life)
		} else {
			sleep(life, longestPause)
		}
		b.row.Store(0)
	}
}

// confirm reports whether a suspected store is unavailable: all its tests fail for long enough.
func (b *breaker) confirm(life context.Context) bool {
	for began := time.Now(); ; sleep(life, pause) {
		err := b.once(life)
		if err == nil || life.Err() != nil {
			return false
		}
		b.cause.Store(&err)
		if time.Since(began) >= stall*b.slow {
			return true
		}
	}
}

// once tests the store once.
func (b *breaker) once(life context.Context) error {
	ctx, cancel := context.WithTimeout(life, b.slow)
	defer cancel()
	return b.probe(ctx)
}

// test tests an unavailable store until it passes several times in a row, and then closes the breaker.
func (b *breaker) test(life context.Context) {
	b.changed(b.unavailable())
	for wait, passed := pause, 0; passed < answers; {
		if sleep(life, wait+rand.N(wait/2)); life.Err() != nil { //nolint:gosec // no secret
			return
		}
		if err := b.once(life); err != nil {
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

// sleep waits for d, or until life ends.
func sleep(life context.Context, d time.Duration) {
	select {
	case <-life.Done():
	case <-time.After(d):
	}
}
