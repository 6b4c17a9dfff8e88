package headgate

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"time"
)

// Lease is units of a concurrency limit that are held: until Release, or until
// the limit's lease time has gone by without a Renew. It is safe for use by
// many goroutines.
type Lease struct {
	limiter *Limiter
	key     string
	limit   Limit
	id      string
	units   int64

	mu       sync.Mutex
	released bool
	// expires is when the units are lost unless renewed, by this process's
	// clock and counted from before the request was sent, so that this side
	// gives up first.
	expires time.Time
	stop    []context.CancelCauseFunc // of the contexts that Hold handed out
}

// Acquire takes n units of a concurrency limit. The lease is nil when they are
// refused: the decision then says when enough leases expire, though a release
// may admit earlier.
func (l *Limiter) Acquire(ctx context.Context, key string, limit Limit, n int64) (*Lease, Decision, error) {
	lease := &Lease{limiter: l, key: strings.Clone(key), limit: limit, id: rand.Text(), units: n}
	r := lease.extend(ctx, OpAcquire)
	if r.Err != nil || !r.Decision.Allowed {
		return nil, r.Decision, r.Err
	}
	return lease, r.Decision, nil
}

func (e *Lease) do(ctx context.Context, kind Kind) Result {
	c := calls.Get().(*call)
	defer c.free()
	return *e.limiter.one(ctx, c, kind, e.key, e.limit, e.units, e.id)
}

// extend runs an operation that, if it passes, holds the units anew.
func (e *Lease) extend(ctx context.Context, kind Kind) Result {
	expires := time.Now().Add(micros(e.limit.Numbers().Period))
	r := e.do(ctx, kind)
	if r.Err == nil && r.Decision.Allowed {
		e.mu.Lock()
		e.expires = expires
		e.mu.Unlock()
	}
	return r
}

func (e *Lease) expiry() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.expires
}

// Renew holds the units for another lease time from now. [ErrLeaseLost] means
// that they were no longer held.
func (e *Lease) Renew(ctx context.Context) error {
	r := e.extend(ctx, OpRenew)
	if r.Err == nil && !r.Decision.Allowed {
		return ErrLeaseLost
	}
	return r.Err
}

// Release gives the units back and cancels the contexts of Hold. Releasing
// twice, or what has expired, does nothing.
func (e *Lease) Release(ctx context.Context) error {
	e.mu.Lock()
	e.released = true
	stops := e.stop
	e.stop = nil
	e.mu.Unlock()
	for _, stop := range stops {
		stop(context.Canceled)
	}
	return e.do(ctx, OpRelease).Err
}

// Hold keeps the lease renewed, every third of its time, until it is released
// or ctx ends. The context it returns is cancelled then, and with the cause
// [ErrLeaseLost] as soon as the units are known, or must be feared, to be lost.
// Work that needs the units runs under it.
func (e *Lease) Hold(ctx context.Context) context.Context {
	held, stop := context.WithCancelCause(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.released {
		stop(context.Canceled)
		return held
	}
	e.stop = append(e.stop, stop)
	go e.keep(held, stop)
	return held
}

// keep renews until ctx ends. A store that cannot be asked is asked again until
// the lease would have expired.
func (e *Lease) keep(ctx context.Context, stop context.CancelCauseFunc) {
	ticker := time.NewTicker(max(micros(e.limit.Numbers().Period)/3, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		attempt, cancel := context.WithDeadline(ctx, e.expiry())
		err := e.Renew(attempt)
		cancel()
		if errors.Is(err, ErrLeaseLost) || err != nil && !time.Now().Before(e.expiry()) {
			stop(ErrLeaseLost)
			return
		}
	}
}
