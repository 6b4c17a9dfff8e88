package headgate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headgate/headgate/engine"
)

// SettleWithin returns the policy with a term for its reservations, 1 ms to [engine.MaxWithin]. One that is
// neither settled nor reported on in that time ends: what it charged is kept, given back, or replaced by the
// estimate, and its permits are released. The store keeps the reservation meanwhile, so that it survives the
// process that made it, and any limiter on the store that has seen a term ends it, within a second or so. No
// delay of such a reservation is longer than its term.
//
// In a list the shortest term counts, and what belongs to it.
func (p *Policy) SettleWithin(within time.Duration, then engine.Unsettled) *Policy {
	termed := *p
	termed.term = &engine.Term{Within: within, Then: then}
	p.limiter.WatchTerms()
	return &termed
}

// Term returns the term of the reservation; nil if it has none.
func (r *Reservation) Term() *engine.Term { return r.held.Term }

// Pending returns, for each limit, how many units the reservations with ceilings ([Charge.Ceiling]) that were
// open at the reserve can still charge, this one included: the limit can be exceeded by so many. Nil
// where the reserve had no ceilings, and for a reservation that was read from its text.
//
// With a ceiling of 4000 over 1000 reserved tokens, and another call of the same kind open, it is 6000.
func (r *Reservation) Pending() []int64 { return r.pending }

// Report says what was used so far, and begins the term again: one number of all limits, or one for each
// charge of a list. Units beyond those that are charged are charged now, as [Reservation.Commit] does; fewer give nothing
// back yet. What was reported stays used, whatever becomes of the reservation. Permits need
// [Reservation.Renew]. It reports false if the reservation is no longer open. One without a term has nothing to
// report on: then open is true, and nothing changes.
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

// OpenOf returns the open reservations with a term that charged a key, up to so many; none where the store
// keeps none. It is for operators: on one Redis it reads all that are open.
func (l *Limiter) OpenOf(ctx context.Context, key string, most int) ([]*engine.Reservation, error) {
	keeper := engine.KeeperOf(l.store)
	if keeper == nil {
		return nil, nil
	}
	return keeper.OpenOf(ctx, key, most)
}

// overdueEach is how often a limiter looks for reservations whose terms have passed.
const overdueEach = time.Second

// WatchTerms makes the limiter end reservations whose terms have passed, also those of other processes, until
// Close. A reserve with a term does so too. Without a store that keeps reservations it does nothing.
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

// endOverdue ends the reservations whose terms have passed, and tries again later what the store could not.
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
