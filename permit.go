package headgate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/lease"
)

// Permit holds units of a [Semaphore]. It ends with Release, or when the limit's lease time passes without a Renew. It
// is safe for concurrent use. A nil Permit, as after a denial, holds nothing: Release does nothing, Renew returns an
// error that matches [ErrDenied], and the context of Hold has ended.
type Permit struct {
	policy *Policy
	key    string
	id     string
	units  int64

	mu       sync.Mutex
	released bool // Release has been called, so Hold stops renewing
	given    bool // Release has succeeded
	// expires is the instant on this process's clock when the units are lost unless renewed. It is measured from before
	// the request was sent, so that the holder gives up before the store does.
	expires time.Time
	stop    []context.CancelCauseFunc // ends the contexts that Hold returned
}

func (p *Permit) do(ctx context.Context, kind engine.Kind) (d Decision, err error) {
	c := calls.Get().(*opBuffers)
	defer c.free()
	r := p.policy.limiter.ask(ctx, c, kind, p.policy.space, p.key, p.policy.group, p.units, p.id)
	if kind == engine.OpAcquire {
		p.policy.limiter.releaseLate(&c.op[0], r.Err)
	}
	if r.Err == nil && kind != engine.OpRelease {
		d = decisionOf(&c.op[0], r, p.policy.name)
	}
	return d, p.policy.named(r.Err)
}

var errNoPermit = fmt.Errorf("%w: there is no permit", ErrDenied)

func (p *Permit) holdsNothing() bool { return p == nil || p.policy == nil }

// lease returns the lease time of the permit: the shortest of the policy's limits.
func (p *Permit) lease() time.Duration { return engine.LeaseOf(p.policy.charges(nil, 1)) }

// extend runs an acquire or a renew. On success the permit expires one lease time after the call.
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

// Renew holds the units for another lease time from now. It returns [ErrEnded] if the permit has lost them.
func (p *Permit) Renew(ctx context.Context) error {
	if p.holdsNothing() {
		return errNoPermit
	}
	d, err := p.extend(ctx, engine.OpRenew)
	return endedUnless(d.Allowed, err)
}

// Release gives the units back and cancels the contexts returned by Hold. It does nothing if the permit has expired or
// has already been released. After an error the call can be repeated.
func (p *Permit) Release(ctx context.Context) error {
	if p.holdsNothing() {
		return nil
	}
	p.mu.Lock()
	given := p.given
	p.released = true
	stops := p.stop
	p.stop = nil
	p.mu.Unlock()
	if given {
		return nil
	}
	for _, stop := range stops {
		stop(context.Canceled)
	}
	_, err := p.do(ctx, engine.OpRelease)
	p.mu.Lock()
	p.given = err == nil
	p.mu.Unlock()
	p.policy.limiter.lines.pausing.WakeAll(subject{p.policy.space, p.key})
	return err
}

// Hold renews the permit at intervals of a third of its lease time, until the permit is released or ctx ends, and then
// cancels the returned context. The context is also cancelled, with the cause [ErrEnded], as soon as the units are lost
// or may be lost. Use the returned context for work that needs the units.
func (p *Permit) Hold(ctx context.Context) context.Context {
	var missing error
	if p.holdsNothing() {
		missing = errNoPermit
	}
	if ctx == nil {
		ctx, missing = context.Background(), cmp.Or(missing, errNoContext)
	}
	held, stop := context.WithCancelCause(ctx)
	if missing != nil {
		stop(missing)
		return held
	}
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

// keep renews the permit until ctx ends. If the store does not answer, it retries until the permit would have expired.
func (p *Permit) keep(ctx context.Context, stop context.CancelCauseFunc) {
	lost := lease.Keep(ctx, p.lease(), p.expiry, func(ctx context.Context) (lost bool, err error) {
		err = p.Renew(ctx)
		return errors.Is(err, ErrEnded), err
	})
	if lost {
		stop(ErrEnded)
	}
}
