package headgate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headgate/headgate/engine"
)

// SettleWithin returns the policy with a term for its reservations, 1 ms to [engine.MaxWithin]. A reservation that is
// neither settled nor reported on within the term ends: its charge is kept, given back, or replaced by the estimate,
// and its permits are released. The store keeps open reservations, so they survive the process that made them. Any
// limiter on the store that has seen a term ends them, within about a second. No delay of such a reservation is
// longer than its term.
//
// In a list of charges, the shortest term applies, with its [engine.Unsettled].
func (p *Policy) SettleWithin(within time.Duration, then engine.Unsettled) *Policy {
	termed := *p
	termed.term = &engine.Term{Within: within, Then: then}
	p.limiter.WatchTerms()
	return &termed
}

// Term returns the term of the reservation; nil if it has none.
func (r *Reservation) Term() *engine.Term { return r.held.Term }

// Pending returns, for each limit, the number of units that open reservations with ceilings ([Charge.Ceiling]) can
// still charge, this one included, as of the reserve. The limit can be exceeded by that many units. It is nil if the
// reserve had no ceilings, and for a parsed reservation.
//
// With a ceiling of 4000 over 1000 reserved tokens, and another call of the same kind open, it is 6000.
func (r *Reservation) Pending() []int64 { return r.pending }

// Report records the units used so far and restarts the term. It takes one number for all limits, or one for each
// charge of a list. Units beyond those already charged are charged now, like [Reservation.Commit]; a smaller number
// gives nothing back yet. Reported units stay used, however the reservation ends. Permits need [Reservation.Renew].
// Report returns false if the reservation is no longer open. For a reservation without a term it returns true and
// changes nothing.
//
// With 1000 tokens reserved, reports of 600 and 1200 have charged 1000 and 1200.
func (r *Reservation) Report(ctx context.Context, used ...int64) (open bool, err error) {
	if r.held.Term == nil {
		return true, nil
	}
	var op engine.Op
	switch len(used) {
	case 1:
		op = r.held.Settle(used[0])
	case r.held.Items():
		op = r.held.SettleEach(func(item int) int64 { return used[item] })
	default:
		return false, &InputError{Field: "used", Value: fmt.Sprint(len(used), " numbers"), Accepted: fmt.Sprintf("one, or one for each of the %d charges that were reserved", r.held.Items())}
	}
	op.Stage = engine.Report
	result := r.limiter.Do(ctx, []engine.Op{op}, nil)[0]
	return result.Found, result.Err
}

// OpenOf returns up to most open reservations with a term that charged a key, or none if the store does not keep
// them. It is for operators: on a single Redis it reads all open reservations. On a Cluster it finds reservations under a
// fair-share limit only by the key that the limit counts under ([Limit.Counts]).
func (l *Limiter) OpenOf(ctx context.Context, key string, most int, under ...string) ([]*engine.Reservation, error) {
	keeper := engine.KeeperOf(l.store)
	if keeper == nil {
		return nil, nil
	}
	return keeper.OpenOf(ctx, key, most, under...)
}

// overdueEach is the interval at which a limiter looks for overdue reservations.
const overdueEach = time.Second

// WatchTerms makes the limiter end overdue reservations, including those of other processes, until Close. A reserve
// with a term also starts it. It does nothing if the store does not keep reservations.
func (l *Limiter) WatchTerms() {
	keeper := engine.KeeperOf(l.store)
	if keeper == nil || l.closed.Load() {
		return
	}
	l.watch.Do(func() {
		l.watching.Go(func() {
			ticker := time.NewTicker(overdueEach)
			defer ticker.Stop()
			for {
				select {
				case <-l.done:
					return
				case <-ticker.C:
					if errors.Is(l.endOverdue(keeper), ErrClosed) {
						return
					}
				}
			}
		})
	})
}

// endOverdue ends the overdue reservations. Those that fail are retried at the next tick.
func (l *Limiter) endOverdue(keeper engine.Keeper) error {
	ctx, cancel := context.WithTimeout(context.Background(), overdueEach)
	defer cancel()
	for {
		due, err := keeper.Due(ctx)
		if len(due) == 0 {
			return err
		}
		ops, results := make([]engine.Op, len(due)), make([]engine.Result, len(due))
		for i, r := range due {
			ops[i] = r.Overdue()
		}
		l.store.Do(ctx, ops, results)
		for i := range results {
			if results[i].Err != nil {
				return results[i].Err
			}
		}
		if len(due) < engine.MaxDue {
			return nil
		}
	}
}
