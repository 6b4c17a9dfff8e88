package fallback

import (
	"context"
	"errors"
	"slices"

	"github.com/headgate/headgate/engine"
)

// settleable reports whether the caller may settle the operation's charge.
func settleable(op *engine.Op) bool { return op.Kind == engine.OpReserve || op.Hints.Settled }

// charged returns the reservation for a charge to this process's shares. The charge is settled with this reservation.
func (s *Store) charged(own *shares, o *engine.Answer) *engine.Reservation {
	r := o.Reservation(&own.op, "")
	r.Process = s.name
	return r
}

// chargedBoth returns the reservation for a charge to the store, with the answer d, and to this process's memory. Each
// settles its own charge, so d must be as the store answered it (regression: bug 190).
func (s *Store) chargedBoth(op *engine.Op, d *engine.Answer, own *doubted) *engine.Reservation {
	r, beside := d.Reservation(op, ""), s.charged(own.shares, &own.answer)
	r.Process, r.Shares = beside.Process, beside.Limits
	if r.Term == nil {
		r.Ends = max(r.Ends, beside.Ends)
	}
	return r
}

// ofShares reports whether the operation settles a charge to shares only.
func ofShares(op *engine.Op) bool {
	return op.Kind == engine.OpSettle && op.Reservation != nil && op.Reservation.Process != "" && len(op.Reservation.Shares) == 0
}

// settles decides operations. Settlements of charges that were made only to shares do not go to the store, and neither do
// later ones of a reservation whose settlement is owed to the store: they find it settled, as they would there.
func (s *Store) settles(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	rest := newRest()
	defer rest.free()
	for i := range ops {
		switch {
		case results[i].Err != nil:
		case ofShares(&ops[i]):
			results[i] = s.settle(&ops[i], ops[i].Reservation.Limits)
		case ops[i].Kind == engine.OpSettle && s.outbox.settled(&ops[i]):
			results[i] = engine.Answer{Promise: engine.Promise{Mode: engine.Fallback}}
			results[i].Resize(len(ops[i].Charges))
		default:
			rest.Add(i)
		}
	}
	rest.Do(ctx, s.decide, ops, results)
}

// settle settles a charge to shares. Only the process that charged its shares can settle the charge; in any other
// process, settle does nothing.
func (s *Store) settle(op *engine.Op, limits []engine.Reserved) (answer engine.Answer) {
	if op.Reservation.Process != s.name {
		answer.Resize(len(op.Charges))
		return answer
	}
	r := *op.Reservation
	r.Limits, r.Process, r.Shares, r.Term = limits, "", nil, nil // shares have no terms
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
	answer = s.alone(&own)
	if permits, ok := own.Permits(); ok { // the store may have received them since then
		if outside, sent := s.outbox.drop(&permits); !outside || sent {
			s.queueRelease(&permits)
		}
	}
	answer.Promise = engine.Promise{Mode: engine.Fallback}
	if answer.Len() != len(op.Charges) { // several shares of one limit
		answer.Resize(len(op.Charges))
		answer.Binding = 0
	}
	return answer
}

// settled handles the store's answer to a settlement, except for a report. If shares were charged as well as the store,
// it also settles their charges. If the store may not have received the settlement, settled adds it to the outbox and
// sets the result of a settled reservation. If there is no room in the outbox, the error stays.
func (s *Store) settled(op *engine.Op, r *engine.Answer) {
	of := op.Reservation
	if op.Stage == engine.Report {
		return // its caller repeats it
	}
	if len(of.Shares) > 0 && !errors.Is(r.Err, engine.ErrInvalid) {
		s.settle(op, of.Shares)
	} else if permits, ok := op.Permits(); ok {
		s.releaseShare(&permits)
	}
	ends := of.Ends
	if of.Term != nil { // reports may have postponed Due
		ends = max(ends, s.now()+of.Term.Within.Microseconds())
	}
	if (engine.Away(r.Err) || unknown(r.Err)) && s.outbox.add(op, ends, s.now(), true, false) {
		*r = engine.Answer{Found: true, Promise: engine.Promise{Mode: engine.Fallback}}
		r.Resize(len(op.Charges))
	}
}
