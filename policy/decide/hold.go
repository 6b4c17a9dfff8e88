package decide

import (
	"crypto/rand"
	"math"
	"slices"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
)

// hold sets what only the operations of reservations and permits have.
func (r *Request) hold(op *engine.Op) {
	switch {
	case r.Kind == engine.OpReserve:
		op.Ahead = r.MaxDelay
	case r.Kind == engine.OpAcquire && r.ID == "":
		op.ID = rand.Text()
	}
}

// estimate lowers the costs of a reserve to what an untouched limit lets pass, where the policy says so:
// the commit charges the rest.
func (r *Request) estimate(p *policy.Policy, limits []policy.Charge) {
	if r.Kind != engine.OpReserve || !p.EstimateMax {
		return
	}
	for i := range limits {
		limits[i].Cost = min(limits[i].Cost, limits[i].Limit.Numbers().Largest())
	}
}

// reserveItems sets what a reserve of several items has: a permit among them is held by the reservation's
// id, which no client can guess.
func reserveItems(op *engine.Op, items int) {
	op.Listed = items
	if slices.ContainsFunc(op.Charges, func(c engine.Charge) bool { return c.Limit.Algorithm().Holds() }) {
		op.ID = rand.Text()
	}
}

// shadow returns the operation of a shadow beside the deciding one: of a reserve, a take, because
// nothing settles it.
func (r *Request) shadow(space, key string, c engine.Charge, deciding *engine.Op) engine.Op {
	op := engine.Op{
		Kind: r.Kind, Space: space, Key: key, ID: deciding.ID, Charges: []engine.Charge{c},
		Shadow: true, Settled: deciding.Settled,
	}
	switch {
	case r.Kind == engine.OpReserve && c.Limit.Algorithm().Holds():
		op.Kind, op.ID = engine.OpPeek, "" // nothing would release the permit
	case r.Kind == engine.OpReserve:
		op.Kind, op.ID = engine.OpAllow, ""
	case isHold(r.Kind) && c.Limit.Algorithm().Constant():
		op.Kind = engine.OpPeek
	}
	return op
}

// isHold reports whether the kind is of a permit.
func isHold(kind engine.Kind) bool { return kind >= engine.OpAcquire && kind <= engine.OpRelease }

// withoutPermits changes an operation on limits of which no permit can be held, because
// they deny or allow everything: it then only peeks. A reserve whose limits are all
// shadows reserves of a limit that allows everything, so that it has an answer to settle.
func withoutPermits(op *engine.Op, unlimited bool) {
	denies := func(c engine.Charge) bool { return c.Limit.Algorithm().DeniesAll() }
	switch {
	case len(op.Charges) == 0 && (unlimited || op.Kind == engine.OpReserve):
		op.Charges = []engine.Charge{{Limit: headgate.NoLimit(), Cost: 1}}
		if isHold(op.Kind) {
			op.Kind = engine.OpPeek
		}
	case isHold(op.Kind) && slices.ContainsFunc(op.Charges, denies):
		op.Kind = engine.OpPeek
	}
}

// hold sets what only reservations and permits answer.
func (b *Batch) hold(response *Response, kind engine.Kind, at int) {
	op, result := &b.Ops[at], &b.Results[at]
	switch kind {
	case engine.OpReserve:
		if result.Reservation != nil {
			response.Reservation = b.textOf(result.Reservation)
		}
	case engine.OpAcquire, engine.OpRenew:
		if response.Decision.Allowed {
			response.ID, response.Lease = op.ID, leaseOf(op)
		}
	}
}

// leaseOf returns how long a permit lasts: the shortest lease time of its limits.
func leaseOf(op *engine.Op) time.Duration {
	shortest := int64(math.MaxInt64)
	for i := range op.Charges {
		shortest = min(shortest, op.Charges[i].Limit.Numbers().Period)
	}
	return time.Duration(shortest) * time.Microsecond
}
