package fallback

import (
	"context"
	"errors"
	"slices"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/internal/forward"
)

// settleable reports whether the caller may settle what the operation charges.
func settleable(op *engine.Op) bool { return op.Kind == engine.OpReserve || op.Settled }

// charged returns what the shares of this process were charged, for a settlement.
func (s *Store) charged(own *shares, o *engine.Outcome) *engine.Reservation {
	r := o.Reservation(&own.op, "")
	r.Process = s.processes.own
	return r
}

// beside returns the same of shares that were charged beside the store.
func beside(r *engine.Reservation) *engine.Reservation {
	if r == nil {
		return nil
	}
	return &engine.Reservation{Process: r.Process, Shares: r.Limits}
}

// ofShares reports whether the operation settles what shares alone were charged.
func ofShares(op *engine.Op) bool {
	return op.Kind == engine.OpSettle && op.Reservation != nil && op.Reservation.Process != "" && len(op.Reservation.Shares) == 0
}

// decider is a store without settlements of shares.
type decider struct{ *Store }

func (d decider) Do(ctx context.Context, ops []engine.Op, results []engine.Result) {
	d.decide(ctx, ops, results)
}

// settles decides operations of which some settle what shares alone were charged. The store never
// learns of these.
func (s *Store) settles(ctx context.Context, ops []engine.Op, results []engine.Result) {
	rest := rests.Get().(*forward.Rest)
	defer func() {
		rest.Clear()
		rests.Put(rest)
	}()
	for i := range ops {
		switch {
		case results[i].Err != nil:
		case ofShares(&ops[i]):
			results[i] = s.settle(&ops[i], ops[i].Reservation.Limits)
		default:
			rest.Add(i)
		}
	}
	if len(rest.From) > 0 {
		rest.Do(ctx, decider{s}, ops, results)
	}
}

// settle settles what shares were charged. Those of a process that is gone stay spent, and so
// settle nothing.
func (s *Store) settle(op *engine.Op, limits []engine.Reserved) engine.Result {
	if op.Reservation.Process != s.processes.own {
		return engine.Result{}
	}
	r := *op.Reservation
	r.Limits, r.Process, r.Shares, r.Term = limits, "", nil, nil // shares keep no terms
	own := r.Settle(0)
	for i := range own.Charges {
		charge := 0
		if len(op.Charges) > 1 {
			charge = slices.IndexFunc(op.Charges, func(c engine.Charge) bool { return c.Items == own.Charges[i].Items })
		}
		if charge >= 0 && limits[i].Units > 0 {
			own.Charges[i].Cost = op.Charges[charge].Cost
		}
	}
	answer := s.alone(&own)
	if permits, ok := own.Permits(); ok { // the store may have got them since
		if outside, sent := s.owed.drop(&permits); !outside || sent {
			s.oweRelease(&permits)
		}
	}
	answer.Outcome.Promise = engine.Promise{Mode: engine.Fallback}
	return answer
}

// settled looks at the store's answer to a settlement, which also ends what shares were charged beside it.
// One that the store did not take is kept.
func (s *Store) settled(op *engine.Op, r *engine.Result) {
	of := op.Reservation
	if op.Stage == engine.Report {
		return // its caller repeats it
	}
	if len(of.Shares) > 0 && !errors.Is(r.Err, engine.ErrInvalid) {
		s.settle(op, of.Shares)
	}
	ends := of.Ends
	if of.Term != nil { // reports may have moved it
		ends = max(ends, s.now()+of.Term.Within.Microseconds())
	}
	if (Away(r.Err) || unknown(r.Err)) && s.owed.add(op, ends, s.now(), true, false) {
		*r = engine.Result{Found: true, Outcome: engine.Outcome{Promise: engine.Promise{Mode: engine.Fallback}}}
	}
}
