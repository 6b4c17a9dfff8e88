package headgate

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/headgate/headgate/engine"
)

// First returns a copy of the policy that charges only the first of its limits that has enough units, in one atomic
// step. If none has enough, the request is denied, and its RetryAfter is the shortest of the limits' waits.
// [Decision.Paid] names the charged limit. A reservation settles on that limit.
//
// AtMost and Give return errors, because they cannot tell which limit to change. Concurrency limits and limits that set
// CountDenied cause errors too. On a Cluster, all limits of a key are in one slot. If a list of charges contains other
// keys too, put the same text in braces into all of its keys.
//
// With limits of 1000 requests a month and of 50 credits that do not refill, the 1001st request of a month costs a
// credit.
func (p *Policy) First() *Policy {
	p = p.orBroken()
	return p.on(p.core.First())
}

// LeavingPercent returns a copy of the policy for a class of requests that must leave a percentage of every limit, 0 to
// 99, for other requests: after each request of the class, at least ⌈percent of each capacity⌉ units must remain.
// Both policies count the same units, and the bound of each limit does not change. In decisions of the returned
// policy, Remaining is the number of units left for the class.
//
// Every method returns the error of [Policy.Err] if percent is out of range, or if some limit is a pacer, sets NextPays,
// or has too few units: the class needs one unit, or 10 of a [FairShare], and each longer of several windows needs a
// larger count.
//
// With 100 a second and a burst of 200, a policy that leaves 10 % denies requests that would leave fewer than 20
// units.
func (p *Policy) LeavingPercent(percent int) *Policy {
	p = p.orBroken()
	lowered := slices.Clone(p.core.Limits())
	for i, limit := range p.core.Limits() {
		var err error
		if percent < 0 || percent > 99 {
			err = &engine.InputError{Field: "percent", Value: strconv.Itoa(percent), Accepted: "0 to 99"}
		} else {
			lowered[i], err = limit.ForClass(engine.Leave{Percent: int64(percent)})
			if input, ok := errors.AsType[*engine.InputError](err); ok && input.Field == "leaves" {
				err = &engine.InputError{Field: "percent", Value: input.Value, Accepted: input.Accepted}
			}
		}
		if err != nil {
			lowered[i] = engine.Invalid(err)
		}
	}
	return p.on(p.core.With(lowered...))
}

// Unsettled is what happens to the charge of a reservation that was not settled in time: KeepCharge or ReleaseCharge.
// Units reported as used stay charged in any case, and permits are released.
type Unsettled = engine.Unsettled

// The values of Unsettled.
const (
	// KeepCharge keeps the reserved units charged.
	KeepCharge = engine.KeepCharge
	// ReleaseCharge gives the reserved units back.
	ReleaseCharge = engine.ReleaseCharge
)

// SettleWithin returns a copy of the policy with a term for what Reserve and ReserveAll return: 1 ms to 7 days. A
// reservation ends if it is neither settled nor reported on within the term. Its permits are then released, and its
// charge is treated as then says. The store keeps open reservations, so they survive their process. Overdue
// reservations are ended within about a second, by any limiter that uses the same store and has used a policy or a
// reservation with a term. A reservation is never delayed longer than its term.
//
// In a list of charges, the shortest term applies. If the term or then is out of range, every method returns the error
// of [Policy.Err].
func (p *Policy) SettleWithin(within time.Duration, then Unsettled) *Policy {
	p = p.orBroken()
	term := engine.Term{Within: within, Then: then}
	err := term.Check()
	switch input, ok := errors.AsType[*engine.InputError](err); {
	case then > ReleaseCharge:
		err = &engine.InputError{Field: "then", Value: strconv.Itoa(int(then)), Accepted: "KeepCharge or ReleaseCharge"}
	case ok:
		err = &engine.InputError{Field: "within", Value: input.Value, Accepted: input.Accepted}
	}
	if err != nil {
		return p.on(p.core.With(engine.Invalid(err)))
	}
	return p.on(p.core.WithTerm(term))
}
