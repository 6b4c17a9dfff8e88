package decide

import (
	"cmp"
	"crypto/rand"
	"slices"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
)

// hold sets the operation fields that only reservations and permits need.
func (r *Request) hold(op *engine.Op) {
	switch {
	case r.Kind == engine.OpReserve:
		op.Ahead = r.MaxDelay
	case r.Kind == engine.OpAcquire && r.ID == "":
		op.ID = rand.Text()
	}
}

// estimate caps the costs of a reserve at the limits' capacity if the policy sets estimate_max. The commit charges the
// rest.
func (r *Request) estimate(p *policy.Policy, limits []policy.Charge) {
	if r.Kind != engine.OpReserve || !p.EstimateMax {
		return
	}
	for i := range limits {
		limits[i].Estimate = limits[i].Cost
		limits[i].Cost = min(limits[i].Cost, limits[i].Limit.Numbers().Largest())
	}
}

// WatchTerms makes the limiter end overdue reservations if any policy has a term. They include the reservations of
// processes that no longer exist.
func (r *Rules) WatchTerms(policies *policy.Set) {
	for _, name := range policies.Names() {
		if p, ok := policies.Get(name); ok && p.Term != nil {
			r.Limiter.WatchTerms()
			return
		}
	}
}

// setTerm gives a reserve the shortest term of its policies. The estimates are the units requested for each charge.
func setTerm(op *engine.Op, term *engine.Term, charges []policy.Charge) {
	if term == nil {
		return
	}
	own := *term
	if own.Then == engine.ChargeEstimate {
		for i := range charges {
			own.Estimates = append(own.Estimates, charges[i].Estimate)
		}
	}
	op.SetTerm(&own)
	if op.ID == "" {
		op.ID = rand.Text()
	}
}

// reserves sets the fields of a reserve that depend on whether it has a list. Only a list can reserve permits. They are
// held under the reservation's id, which clients cannot guess.
func (r *Request) reserves(op *engine.Op) {
	holds := holdsPermits(op)
	switch {
	case !r.listed() && holds:
		op.ID = ""
	case r.listed():
		op.Listed = len(r.Items)
		if op.ID == "" && holds {
			op.ID = rand.Text()
		}
	}
}

// holdsPermits reports whether any of the operation's limits has permits.
func holdsPermits(op *engine.Op) bool {
	return slices.ContainsFunc(op.Charges, func(c engine.Charge) bool { return c.Limit.Algorithm().Holds() })
}

// longestDelay is the longest delay that a request with Holds accepts, like an allow. Its pacers have shorter bounds.
const longestDelay = 36525 * 24 * time.Hour

// holdWith turns an allow with permits into a reserve, which takes the permits and charges the other limits in one step.
func (r *Request) holdWith(op *engine.Op) {
	if r.Holds && op.Kind == engine.OpAllow && holdsPermits(op) {
		op.Kind, op.Ahead = engine.OpReserve, longestDelay
		if op.ID == "" {
			op.ID = rand.Text()
		}
	}
}

// held returns the permits that the store has granted to a request with Holds and its shadows, or nil.
func (b *Batch) held(at *plan) *core.Permits {
	var acquired []engine.Op
	add := func(i int) {
		op, result := &b.Ops[i], &b.Results[i]
		if (op.Kind == engine.OpReserve || op.Kind == engine.OpAcquire) && result.Err == nil && result.Allowed {
			if acquire, holds := op.Acquires(); holds {
				acquired = append(acquired, acquire.Clone()) // the batch reuses its memory
			}
		}
	}
	if at.op >= 0 {
		add(at.op)
	}
	for i := at.besides.from; i < at.besides.to; i++ {
		add(b.besides[i].op)
	}
	if acquired == nil {
		return nil
	}
	return b.rules.Limiter.PermitsOf(acquired)
}

// shadow returns the operation for a shadow. In place of a reserve it returns a take, or a peek for a concurrency
// limit, because a shadow's charge is never settled.
func (r *Request) shadow(space, key string, c engine.Charge, deciding *engine.Op) engine.Op {
	op := engine.Op{
		Kind: r.Kind, Space: space, Key: key, ID: deciding.ID, Charges: []engine.Charge{c},
		Hints: engine.Hints{Shadow: true, NoShare: true, Settled: deciding.Hints.Settled},
	}
	switch {
	case r.Kind == engine.OpReserve && c.Limit.Algorithm().Holds():
		op.Kind, op.ID = engine.OpPeek, "" // nothing would release a permit
	case r.Kind == engine.OpReserve:
		op.Kind, op.ID = engine.OpAllow, ""
	case isHold(r.Kind) && c.Limit.Algorithm().Constant():
		op.Kind = engine.OpPeek
	case r.Holds && c.Limit.Algorithm().Holds() && c.Cost > 0:
		op.Kind, op.ID = engine.OpAcquire, cmp.Or(op.ID, rand.Text())
	}
	return op
}

// isHold reports whether an operation of this kind concerns a permit.
func isHold(kind engine.Kind) bool { return kind >= engine.OpAcquire && kind <= engine.OpRelease }

// hold sets the response fields that only reservations and permits need.
func (b *Batch) hold(response *Response, kind engine.Kind, at int) {
	op, result := &b.Ops[at], &b.Results[at]
	switch kind {
	case engine.OpReserve:
		if op.Kind != engine.OpReserve { // of a shadow, whose charge is never settled
			return
		}
		if r := b.rules.Limiter.Reserved(op, result); r != nil {
			if response.Reservation = b.textOf(r.Held()); r.Held().Term != nil {
				response.SettleWithin = r.Held().Term.Within
			}
		}
	case engine.OpAcquire, engine.OpRenew:
		if response.Allowed {
			response.ID, response.Lease = op.ID, leaseOf(op)
		}
	}
}

// leaseOf returns the lease time of a permit: the shortest of its limits. For a renewal that only restarts a term,
// leaseOf returns the term.
func leaseOf(op *engine.Op) time.Duration {
	if op.Kind == engine.OpSettle {
		return op.Reservation.Term.Within
	}
	return engine.LeaseOf(op.Charges)
}
