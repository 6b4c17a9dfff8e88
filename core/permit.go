package core

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/lease"
)

// Permit holds units of a concurrency limit. It ends with Release, or when the limit's lease time passes without a
// Renew. It is safe for concurrent use.
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

func (p *Policy) newPermit(key string, units int64) *Permit {
	return &Permit{policy: p, key: strings.Clone(key), id: rand.Text(), units: units}
}

// Acquire waits until the key's units are free, and takes them for the lease time. Within a process, callers of one key
// are served in order of arrival. Processes take turns ([turn]). The error is a [*DeniedError] if there are never so many.
func (p *Policy) Acquire(ctx context.Context, key string, units int64) (*Permit, error) {
	if p.limiter.invalid != nil || ctx == nil {
		return nil, cmp.Or(p.limiter.invalid, errNoContext)
	}
	permit := p.newPermit(key, units)
	w, err := p.limiter.lines.join(ctx, p.line(permit.key))
	if err != nil {
		return nil, err
	}
	defer w.leave() // also if the observer panics
	if err := permit.await(ctx, w); err != nil {
		return nil, err
	}
	return permit, nil
}

// TryAcquire takes units of the key for the lease time, or denies at once: the permit is then nil.
func (p *Policy) TryAcquire(ctx context.Context, key string, units int64) (*Permit, engine.Answer) {
	permit := p.newPermit(key, units)
	a := permit.extend(ctx, engine.OpAcquire)
	if a.Err != nil || !a.Allowed {
		return nil, a
	}
	return permit, a
}

func (p *Permit) do(ctx context.Context, kind engine.Kind) engine.Answer {
	c := calls.Get().(*Call)
	defer c.Free()
	p.policy.ask(ctx, c, kind, p.key, p.units, p.id)
	if kind == engine.OpAcquire {
		p.policy.limiter.releaseLate(&c.ops[0], c.answers[0].Err)
	}
	return c.answers[0].Clone()
}

// lease returns the lease time of the permit: the shortest of the policy's limits.
func (p *Permit) lease() time.Duration { return engine.LeaseOf(p.policy.Charges(nil, 1)) }

// extend runs an acquire or a renew. On success the permit expires one lease time after the call.
func (p *Permit) extend(ctx context.Context, kind engine.Kind) engine.Answer {
	expires := time.Now().Add(p.lease())
	a := p.do(ctx, kind)
	if a.Err == nil && a.Allowed {
		p.mu.Lock()
		p.expires = expires
		p.mu.Unlock()
	}
	return a
}

func (p *Permit) expiry() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.expires
}

// Policy returns the policy of the permit's limit. It is nil for the zero Permit.
func (p *Permit) Policy() *Policy { return p.policy }

// Renew holds the units for another lease time from now. It returns [ErrEnded] if the permit has lost them.
func (p *Permit) Renew(ctx context.Context) error {
	a := p.extend(ctx, engine.OpRenew)
	return endedUnless(a.Allowed, a.Err)
}

// Release gives the units back and cancels the contexts returned by Hold. It does nothing if the permit has expired or
// has already been released. The units are given back even if ctx has ended, in a call of at most a second. After an
// error the call can be repeated.
func (p *Permit) Release(ctx context.Context) error {
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
	ctx, cancel := outliving(ctx)
	defer cancel()
	err := p.do(ctx, engine.OpRelease).Err
	p.mu.Lock()
	p.given = err == nil
	p.mu.Unlock()
	p.policy.limiter.lines.released(p.policy.line(p.key))
	return err
}

// Hold renews the permit at intervals of a third of its lease time, until the permit is released or ctx ends, and then
// cancels the returned context. The context is also cancelled as soon as the units are lost or may be lost, with the cause
// [ErrEnded], and when the limiter is closed, with the cause [engine.ErrClosed].
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

// keep renews the permit until ctx ends. If the store does not answer, it retries until the permit would have expired.
func (p *Permit) keep(ctx context.Context, stop context.CancelCauseFunc) {
	l := p.policy.limiter
	lost := lease.Keep(ctx, l.done, p.lease(), p.expiry, func(ctx context.Context) (lost bool, err error) {
		err = p.Renew(ctx)
		return errors.Is(err, ErrEnded), err
	})
	switch {
	case l.Closed():
		stop(engine.ErrClosed)
	case lost:
		stop(ErrEnded)
	}
}
