package headgate

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
)

// Permit is units of a concurrency limit that are held: until Release, or until
// the limit's lease time has gone by without a Renew. It is safe for use by
// many goroutines.
type Permit struct {
	policy *Policy
	key    string
	id     string
	units  int64

	mu       sync.Mutex
	released bool
	// expires is when the units are lost unless renewed, by this process's
	// clock and counted from before the request was sent, so that this side
	// gives up first.
	expires time.Time
	stop    []context.CancelCauseFunc // of the contexts that Hold handed out
}

// Acquire holds n units of the policy's concurrency limits, with a lease that the
// holder renews ([Permit.Hold] does). The permit is nil when they are refused: the
// decision then says when enough leases expire, though a release may admit earlier.
func (p *Policy) Acquire(ctx context.Context, key string, n int64) (*Permit, Decision, error) {
	permit := &Permit{policy: p, key: strings.Clone(key), id: rand.Text(), units: n}
	d, err := permit.extend(ctx, engine.OpAcquire)
	if err != nil || !d.Allowed {
		return nil, d, err
	}
	return permit, d, nil
}

func (p *Permit) do(ctx context.Context, kind engine.Kind) (d Decision, err error) {
	c := calls.Get().(*call)
	defer c.free()
	r := p.policy.limiter.ask(ctx, c, kind, p.policy.space, p.key, p.policy.limits, p.units, p.id)
	if r.Err == nil && kind != engine.OpRelease {
		d.read(&c.op[0], &r.Outcome)
	}
	return d, r.Err
}

// lease is how long the units are held: the shortest lease of the policy's limits.
func (p *Permit) lease() (shortest time.Duration) {
	shortest = time.Duration(math.MaxInt64)
	for _, limit := range p.policy.limits {
		shortest = min(shortest, time.Duration(limit.Numbers().Period)*time.Microsecond)
	}
	return shortest
}

// extend runs an operation that, if it passes, holds the units anew.
func (p *Permit) extend(ctx context.Context, kind engine.Kind) (Decision, error) {
	expires := time.Now().Add(p.lease())
	d, err := p.do(ctx, kind)
	if err == nil && d.Allowed {
		p.mu.Lock()
		p.expires = expires
		p.mu.Unlock()
	}
	return d, err
}

func (p *Permit) expiry() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.expires
}

// Renew holds the units for another lease time from now. [ErrPermitLost] means
// that they were no longer held.
func (p *Permit) Renew(ctx context.Context) error {
	d, err := p.extend(ctx, engine.OpRenew)
	if err == nil && !d.Allowed {
		return ErrPermitLost
	}
	return err
}

// Release gives the units back and cancels the contexts of Hold. Releasing
// twice, or what has expired, does nothing.
func (p *Permit) Release(ctx context.Context) error {
	p.mu.Lock()
	p.released = true
	stops := p.stop
	p.stop = nil
	p.mu.Unlock()
	for _, stop := range stops {
		stop(context.Canceled)
	}
	_, err := p.do(ctx, engine.OpRelease)
	return err
}

// Hold keeps the lease renewed, every third of its time, until it is released
// or ctx ends. The context it returns is cancelled then, and with the cause
// [ErrPermitLost] as soon as the units are known, or must be feared, to be lost.
// Work that needs the units runs under it.
func (p *Permit) Hold(ctx context.Context) context.Context {
	held, stop := context.WithCancelCause(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.released {
		stop(context.Canceled)
		return held
	}
	p.stop = append(p.stop, stop)
	go p.keep(held, stop)
	return held
}

// keep renews until ctx ends. A store that cannot be asked is asked again until
// the lease would have expired.
func (p *Permit) keep(ctx context.Context, stop context.CancelCauseFunc) {
	ticker := time.NewTicker(max(p.lease()/3, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		attempt, cancel := context.WithDeadline(ctx, p.expiry())
		err := p.Renew(attempt)
		cancel()
		if errors.Is(err, ErrPermitLost) || err != nil && !time.Now().Before(p.expiry()) {
			stop(ErrPermitLost)
			return
		}
	}
}
