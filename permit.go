package headgate

import (
	"cmp"
	"context"
	"fmt"

	"github.com/headgate/headgate/core"
)

// Permit holds units of a [Semaphore]. It ends with Release, or when the limit's lease time passes without a Renew. It
// is safe for concurrent use. A nil Permit, as after a denial, holds nothing: Release does nothing, Renew returns an
// error that matches [ErrDenied], and the context of Hold has ended.
type Permit core.Permit

var errNoPermit = fmt.Errorf("%w: there is no permit", ErrDenied)

func (p *Permit) holdsNothing() bool { return p == nil || p.core().Policy() == nil }

func (p *Permit) core() *core.Permit { return (*core.Permit)(p) }

// named makes an error of package core one of the semaphore.
func (p *Permit) named(err error) error {
	if err == nil {
		return nil
	}
	return (&Policy{core: p.core().Policy(), kind: "semaphore"}).named(err)
}

// Renew holds the units for another lease time from now. It returns [ErrEnded] if the permit has lost them.
func (p *Permit) Renew(ctx context.Context) error {
	if p.holdsNothing() {
		return errNoPermit
	}
	return p.named(p.core().Renew(ctx))
}

// Release gives the units back and cancels the contexts returned by Hold. It does nothing if the permit has expired or
// has already been released. The units are given back even if ctx has ended, in a call of at most a second, so Release
// can be deferred with the context of the work. After an error the call can be repeated.
func (p *Permit) Release(ctx context.Context) error {
	if p.holdsNothing() {
		return nil
	}
	return p.named(p.core().Release(ctx))
}

// Hold renews the permit at intervals of a third of its lease time, until the permit is released or ctx ends, and then
// cancels the returned context. The context is also cancelled as soon as the units are lost or may be lost, with the
// cause [ErrEnded], and when the limiter is closed, with the cause [ErrClosed]. Use the returned context for work that
// needs the units.
func (p *Permit) Hold(ctx context.Context) context.Context {
	var missing error
	if p.holdsNothing() {
		missing = errNoPermit
	}
	if ctx == nil {
		ctx, missing = context.Background(), cmp.Or(missing, errNoContext)
	}
	if missing == nil {
		return p.core().Hold(ctx)
	}
	ended, stop := context.WithCancelCause(ctx)
	stop(missing)
	return ended
}
