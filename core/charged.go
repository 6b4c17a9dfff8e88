package core

import (
	"cmp"
	"context"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
)

// Charged contains the charges of one or several operations whose final cost is not known yet. It is safe for
// concurrent use.
type Charged struct {
	limiter *headgate.Limiter
	ops     []engine.Op
	held    []*headgate.Reservation
}

// Charge decides like [headgate.Policy.AllowN], and returns the charge, so that it can be corrected when the final cost
// is known: for example, the bytes of a response, or 0 for a failure. The charge is nil if nothing was charged because
// of an error or a denial, or because no store decided.
func Charge(ctx context.Context, p *headgate.Policy, key string, n int64) (*Charged, headgate.Decision, error) {
	limiter, op, r := charge(p, ctx, key, n)
	if r.Err != nil {
		return nil, headgate.Decision{}, r.Err
	}
	d := headgate.DecisionOf(&r.Answer, func(i int) engine.Limit { return op.Charges[i].Limit })
	d.Binding.Policy = p.Name()
	if r.Reservation == nil {
		return nil, d, nil
	}
	return ChargedBy(limiter, []engine.Op{op}, []Result{r}), d, nil
}

// ChargeAll decides like [headgate.Limiter.AllowAll], and returns the operation that it decided. If settled is set, it
// also returns the charge, as [Charge] does, and a pacer can delay the request: see [headgate.Decision].Delay.
func ChargeAll(ctx context.Context, l *headgate.Limiter, settled bool, charges ...headgate.Charge) (*Charged, engine.Op, headgate.Decision, error) {
	op, d, r := chargeAll(l, ctx, charges, settled)
	if r.Reservation == nil {
		return nil, op, d, r.Err
	}
	return ChargedBy(l, []engine.Op{op}, []Result{r}), op, d, nil
}

// ChargedBy returns the charges of operations that [Do] has decided. Their kind must be [engine.OpAllow], with the hint
// Settled.
func ChargedBy(l *headgate.Limiter, ops []engine.Op, results []Result) *Charged {
	c := &Charged{limiter: l, ops: ops, held: make([]*headgate.Reservation, len(results))}
	for i := range results {
		c.held[i] = results[i].Reservation
	}
	return c
}

// Settle corrects the charge on each limit to the final number of units, 0 or more. If that is less than was charged,
// Settle gives the difference back like [headgate.Reservation.Cancel]: only to the window that was charged, and without
// the units that have refilled since. If it is more, Settle charges the difference, even beyond the limit, like
// [headgate.Reservation.Commit]. However, a limit whose first charge was 0 is charged only as far as it has room. Each
// limit is corrected separately: if one limit has no room, the others are still charged. Settle takes effect only once.
// Later calls change only limits whose first charge was 0, and return [headgate.ErrEnded]. Settle returns the same
// errors as [headgate.Policy].
func (c *Charged) Settle(ctx context.Context, final int64) (err error) {
	var more []engine.Op
	for i := range c.ops {
		op, corrected := &c.ops[i], false
		add := func(charges ...engine.Charge) {
			more = append(more, engine.Op{Kind: engine.OpAllow, Space: op.Space, Key: op.Key, Charges: charges, Hints: engine.Hints{Shadow: op.Hints.Shadow}})
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
			err = cmp.Or(err, settleAll(c.held[i], ctx, final))
		}
	}
	return cmp.Or(err, chargeMore(ctx, c.limiter, more))
}

// chargeMore charges each operation in full, using a bucket's debt if necessary. If that is impossible, it charges as
// many units as the limit has room for or, if the operation has several choices, as many as the last choice has room
// for.
func chargeMore(ctx context.Context, l *headgate.Limiter, ops []engine.Op) (err error) {
	if len(ops) == 0 {
		return nil
	}
	rest := make([]engine.Op, 0, len(ops))
	for i, result := range Do(ctx, l, ops, nil) {
		err = cmp.Or(err, result.Err)
		if result.Err == nil && !result.Allowed {
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
	for _, result := range Do(ctx, l, rest, nil) {
		err = cmp.Or(err, result.Err)
	}
	return err
}
