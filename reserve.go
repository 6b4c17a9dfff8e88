package headgate

import (
	"context"
	"fmt"
	"time"

	"github.com/headgate/headgate/core"
)

// Reservation holds units that a caller reserved with [Policy.Reserve]. The caller settles it once, with Cancel or
// Commit. Units of a reservation that is never settled stay spent, unless the policy has a term
// ([Policy.SettleWithin]). A Reservation is safe for concurrent use. A nil Reservation, as after a denial, holds nothing:
// Cancel does nothing, and Commit, Report and Renew return an error that matches [ErrDenied].
type Reservation core.Reservation

// Reserve charges the key n units, 1 or more, and returns at once. If the policy has only token buckets and pacers,
// apart from penalties, Reserve also reserves units that refill later: the caller must wait for [Reservation.Delay].
// Reserve denies the request if the delay would end after the deadline of ctx. A token bucket reserves at most
// 281474976710655 units ahead.
//
// On a denial the reservation is nil, and Decision.RetryAfter is the time until the same call passes, or [Never]. If
// Decision.Delay is above 0 in a denial, the delay would have ended after the deadline. Reserve returns the same errors as [Policy].
//
// With 10 a second and burst 1, the third of three reservations has a delay of 200 ms.
func (p *Policy) Reserve(ctx context.Context, key string, n int64) (*Reservation, Decision, error) {
	p = p.orBroken()
	r, c := p.core.Reserve(ctx, key, n)
	defer c.FreeReserve()
	return (*Reservation)(r), p.decision(c.Answer()), p.named(c.Answer().Err)
}

// Charge decides like [Policy.AllowN], and returns the charge as a reservation without a delay. It is for a cost known
// only afterwards: charge 1 or an estimate, not 0, which cannot become more, and commit the bytes of a response, or 0.
// The reservation is nil after a denial or an error, and if the store did not decide: such a charge cannot be settled.
//
// With 1000 bytes a second, a charge of 100 that is committed as 400 leaves 600.
func (p *Policy) Charge(ctx context.Context, key string, n int64) (*Reservation, Decision, error) {
	p = p.orBroken()
	if p.delays {
		return nil, Decision{}, p.named(errDelays)
	}
	charged, a := p.core.Charge(ctx, key, n)
	return (*Reservation)(charged.Reservation()), p.decision(&a), p.named(a.Err)
}

// ChargeLater is [Policy.Charge] for middleware, which also waits for a pacer's delay itself.
func (p *Policy) ChargeLater(ctx context.Context, key string, n int64) (*core.Charged, Decision, error) {
	p = p.orBroken()
	charged, a := p.core.Charge(ctx, key, n)
	return charged, p.decision(&a), p.named(a.Err)
}

// Reservation parses text that [Reservation.String] returned. Any process that uses the same store can parse it. The
// error is an [*engine.InputError].
func (l *Limiter) Reservation(text string) (*Reservation, error) {
	if l = l.orBroken(); l.invalid != nil {
		return nil, l.invalid
	}
	r, err := l.core.Reservation(text)
	return (*Reservation)(r), err
}

// Core returns what the reservation stands on, or nil: see [Limiter.Core].
func (r *Reservation) Core() *core.Reservation {
	if r.isEmpty() {
		return nil
	}
	return (*core.Reservation)(r)
}

// String returns the reservation as text. [Limiter.Reservation] parses it, in another process or after a restart. The
// text is not signed: accept it from trusted callers only. It contains the key. The text of a nil Reservation is "".
func (r *Reservation) String() string {
	if r.isEmpty() {
		return ""
	}
	return r.Core().Held().String()
}

// Delay returns how long the caller must still wait before it uses the units, or 0. For a parsed reservation, the delay
// assumes that this process's clock agrees with the store's.
func (r *Reservation) Delay() time.Duration {
	if r.isEmpty() {
		return 0
	}
	return max(0, time.Until(r.Core().Slot()))
}

var errNoReservation = fmt.Errorf("%w: there is no reservation", ErrDenied)

func (r *Reservation) isEmpty() bool { return r == nil || (*core.Reservation)(r).Held() == nil }
