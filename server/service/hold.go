package service

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
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

// shadow returns the operation of a shadow: of a reserve, a take, because nothing settles
// a shadow.
func (r *Request) shadow(space, key string, c engine.Charge, id string) engine.Op {
	op := engine.Op{Kind: r.Kind, Space: space, Key: key, ID: id, Charges: []engine.Charge{c}}
	switch a := c.Limit.Algorithm(); {
	case r.Kind == engine.OpReserve:
		op.Kind, op.ID = engine.OpAllow, ""
	case isHold(r.Kind) && a.Constant():
		op.Kind = engine.OpPeek
	}
	return op
}

// settle appends the operation that settles a reservation.
func (b *batch) settle(r *Request) plan {
	held, err := b.signer.open(r.Reservation)
	if err != nil {
		return plan{err: err, op: -1}
	}
	at := plan{op: len(b.ops), cost: r.cost()}
	b.ops = append(b.ops, held.Settle(at.cost))
	return at
}

// giveUp releases the permits that the store has granted, and that too few replicas have: the
// answer is an error, so that no client knows the holder that was made for it. A client's own
// holder keeps them: it may have held them before, and can ask again or release them.
func (s *Service) giveUp(ctx context.Context, b *batch, requests []Request) {
	var ops []engine.Op
	for i := range requests {
		p := &b.plans[i]
		if requests[i].Kind != engine.OpAcquire || requests[i].ID != "" || p.op < 0 || !errors.Is(b.results[p.op].Err, headgate.ErrNotReplicated) {
			continue
		}
		for _, op := range append(b.ops[p.shadows:p.shadows+p.shadowCount:p.shadows+p.shadowCount], b.ops[p.op]) {
			if op.Kind == engine.OpAcquire {
				op.Kind = engine.OpRelease
				ops = append(ops, op)
			}
		}
	}
	ctx, cancel := s.undoing(ctx)
	defer cancel()
	for part := range slices.Chunk(ops, engine.MaxOps) {
		s.config.Limiter.Do(ctx, part, nil) // where that fails, the units are free after the lease time
	}
}

// Undo gives back what a request was charged, also where the caller's context has ended.
// The call of the store is bounded as a decision is, or by a second.
func (s *Service) Undo(ctx context.Context, charged *headgate.Reservation) error {
	ctx, cancel := s.undoing(ctx)
	defer cancel()
	return charged.Cancel(ctx)
}

func (s *Service) undoing(ctx context.Context) (context.Context, context.CancelFunc) {
	within := time.Second
	if s.config.Deadline > 0 {
		within = min(within, s.config.Deadline)
	}
	return context.WithTimeout(context.WithoutCancel(ctx), within)
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

// setHold sets what only reservations and permits answer.
func (r *Response) setHold(kind engine.Kind, b *batch, at int) {
	op, result := &b.ops[at], &b.results[at]
	switch kind {
	case engine.OpReserve:
		if result.Reservation != nil {
			r.Reservation = b.signer.sign(result.Reservation.String())
		}
	case engine.OpAcquire, engine.OpRenew:
		if r.Decision.Allowed {
			r.ID, r.Lease = op.ID, leaseOf(op)
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
