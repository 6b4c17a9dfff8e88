package headgate

import (
	"cmp"
	"context"
	"strings"

	"github.com/headgate/headgate/engine"
)

// Charged is what one or several operations have charged to their limits, until their final
// cost is known. It is safe for use by many goroutines.
type Charged struct {
	limiter *Limiter
	ops     []engine.Op
	held    []*Reservation
}

// Charge decides as [Policy.AllowN] does, and returns what was charged, so that it can be
// corrected when the final cost is known: bytes of a response, or nothing for a failure. It
// is nil if nothing was charged: with an error or a denial, or where no store decided.
func (p *Policy) Charge(ctx context.Context, key string, n int64) (*Charged, Decision, error) {
	op := engine.Op{Kind: engine.OpAllow, Settled: true, Space: p.space, Key: strings.Clone(key), Charges: p.charges(nil, n)}
	ops := []engine.Op{op}
	results := p.limiter.Do(ctx, ops, nil)
	d, err := results[0].Decision, results[0].Err
	if err != nil {
		return nil, d, err
	}
	d.Binding.Policy = p.name
	if !d.Allowed || d.Promise.OvershootMax == engine.Unbounded {
		return nil, d, nil
	}
	return p.limiter.Charged(ops, results), d, nil
}

// Charged returns what operations have charged that [Limiter.Do] has decided: of kind
// [engine.OpAllow], each with Settled.
func (l *Limiter) Charged(ops []engine.Op, results []Result) *Charged {
	c := &Charged{limiter: l, ops: ops, held: make([]*Reservation, len(results))}
	for i := range results {
		c.held[i] = results[i].Reservation
	}
	return c
}

// Settle corrects the charge of each limit to final units, 0 or more. Less gives the
// difference back as [Reservation.Cancel] does: no units that refill has replaced, and to no
// other window than they were charged to. More is charged now, also beyond the limit, as
// [Reservation.Commit] does; a limit whose first charge was 0 is charged as far as it has room.
// Each limit is corrected by itself: units that one has no room for
// must not stay uncharged on the others. It settles once: later calls change nothing but
// limits whose first charge was 0. The errors are those of [Limiter.Allow].
func (c *Charged) Settle(ctx context.Context, final int64) (err error) {
	var more []engine.Op
	for i := range c.ops {
		op, corrected := &c.ops[i], false
		add := func(charges ...engine.Charge) {
			more = append(more, engine.Op{Kind: engine.OpAllow, Space: op.Space, Key: op.Key, Charges: charges, Shadow: op.Shadow})
		}
		var choices []engine.Charge // one of them pays
		for _, charge := range op.Charges {
			switch {
			case charge.Cost == 0 && final > 0 && !charge.Limit.Unlimited():
				// A reservation has no part for a limit that was charged nothing.
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
			err = cmp.Or(err, c.held[i].Commit(ctx, final))
		}
	}
	return cmp.Or(err, c.limiter.chargeMore(ctx, more))
}

// chargeMore charges each operation in full, a bucket's debt included, or else as far as its
// limit has room. Of several choices that is the last.
func (l *Limiter) chargeMore(ctx context.Context, ops []engine.Op) (err error) {
	if len(ops) == 0 {
		return nil
	}
	rest := make([]engine.Op, 0, len(ops))
	for i, result := range l.Do(ctx, ops, nil) {
		err = cmp.Or(err, result.Err)
		if result.Err == nil && !result.Decision.Allowed {
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
	for _, result := range l.Do(ctx, rest, nil) {
		err = cmp.Or(err, result.Err)
	}
	return err
}
