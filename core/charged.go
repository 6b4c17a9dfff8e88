package core

import (
	"cmp"
	"context"
	"time"

	"github.com/headgate/headgate/engine"
)

// Charged contains the charges of one or several operations whose final cost is not known yet. It is safe for
// concurrent use.
type Charged struct {
	limiter *Limiter
	ops     []engine.Op
	held    []*Reservation
}

// ChargedBy returns the charges of operations that [Limiter.Do] has decided. They are allows with
// the hint Settled, or reserves. It retains ops.
func (l *Limiter) ChargedBy(ops []engine.Op, answers []engine.Answer) *Charged {
	c := &Charged{limiter: l, ops: ops, held: make([]*Reservation, len(ops))}
	for i := range ops {
		c.held[i] = l.Reserved(&ops[i], &answers[i])
	}
	return c
}

// Reservation returns the charge of the first operation, or nil if it was not charged.
func (c *Charged) Reservation() *Reservation {
	if c == nil {
		return nil
	}
	return c.held[0]
}

// Settle corrects the charge on each limit to the final number of units, 0 or more. If that is less than was charged,
// Settle gives the difference back like headgate.Reservation.Cancel: only to the window that was charged, and without
// the units that have refilled since. If it is more, Settle charges the difference, even beyond the limit, like
// headgate.Reservation.Commit. However, a limit whose first charge was 0 is charged only as far as it has room. Each
// limit is corrected separately: if one limit has no room, the others are still charged. Settle takes effect only once.
// Later calls change only limits whose first charge was 0, and return [ErrEnded]. Settle returns the same
// errors as headgate.Policy.
func (c *Charged) Settle(ctx context.Context, final int64) (err error) {
	if c == nil {
		return engine.InvalidInput("charge", "nil", "the charge of an allowed request")
	}
	var more []engine.Op
	for i := range c.ops {
		op, corrected := &c.ops[i], false
		hints := op.Hints
		hints.Settled = false
		add := func(charges ...engine.Charge) {
			more = append(more, engine.Op{Kind: engine.OpAllow, Space: op.Space, Key: op.Key, Charges: charges, Hints: hints})
		}
		var choices []engine.Charge // only one of them is charged
		for _, charge := range op.Charges {
			switch {
			case charge.Cost == 0 && final > 0 && !charge.Limit.Unlimited():
				// A reservation contains no entry for a limit that was charged 0.
				if charge.Cost = final; charge.Choice != 0 {
					choices = append(choices, charge)
				} else {
					add(charge)
				}
			case charge.Cost != final && charge.Cost > 0:
				corrected = true
			}
		}
		if choices != nil {
			add(choices...)
		}
		if corrected && c.held[i] != nil {
			_, failed := c.held[i].Settle(ctx, c.held[i].settlement(final))
			err = cmp.Or(err, failed)
		}
	}
	return cmp.Or(err, chargeMore(ctx, c.limiter, more))
}

// settlement returns the settlement of a reservation that nobody else can settle. The store's mark of it is needed only
// while an unanswered settlement is repeated, which is up to [engine.SettleWithin] from now.
func (r *Reservation) settlement(final int64) engine.Op {
	op, own := r.held.Settle(final), *r.held
	own.Ends = min(own.Ends, slotOf(r.held)+(time.Since(r.slot)+engine.SettleWithin).Microseconds())
	op.Reservation = &own
	return op
}

// chargeMore charges each operation in full, using a bucket's debt if necessary. If that is impossible, it charges as
// many units as the limit has room for or, if the operation has several choices, as many as the last choice has room
// for.
func chargeMore(ctx context.Context, l *Limiter, ops []engine.Op) (err error) {
	if len(ops) == 0 {
		return nil
	}
	rest, answers := make([]engine.Op, 0, len(ops)), make([]engine.Answer, len(ops))
	l.Do(ctx, ops, answers)
	for i := range answers {
		err = cmp.Or(err, answers[i].Err)
		if answers[i].Err == nil && !answers[i].Allowed {
			ops[i].Kind = engine.OpAtMost
			if last := len(ops[i].Charges) - 1; ops[i].Chosen() {
				ops[i].Charges = ops[i].Charges[last:]
				ops[i].Charges[0].Choice = 0
			}
			rest = append(rest, ops[i])
		}
	}
	if len(rest) == 0 {
		return err
	}
	answers = answers[:len(rest)]
	l.Do(ctx, rest, answers)
	for i := range answers {
		err = cmp.Or(err, answers[i].Err)
	}
	return err
}
