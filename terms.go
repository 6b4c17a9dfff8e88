package headgate

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/headgate/headgate/engine"
)

// SettleWithin returns a copy of the policy with a term for its reservations: 1 ms to 7 days. A reservation ends if
// it is neither settled nor reported on within the term. Its permits are then released. The value of then selects how
// the reservation's charge is treated: "keep" keeps it, "release" gives it back, and "estimate" replaces it by the
// estimate. The store keeps open reservations, so they survive the process that made them. Overdue reservations are
// ended within about a second, by any limiter that uses the same store and has used a policy or a reservation with a
// term. A reservation is never delayed longer than its term.
//
// In a list of charges, the shortest term applies. If the term is out of range, [Policy.Err] and every method that
// reserves return an error. For any other value of then, every method returns an error.
func (p *Policy) SettleWithin(within time.Duration, then string) *Policy {
	p = p.orBroken()
	unsettled, known := engine.ParseUnsettled(then)
	if !known {
		return p.limiter.policy(p.name, engine.Invalid(&engine.InputError{Field: "then", Value: strconv.Quote(then), Accepted: "keep, release or estimate"}))
	}
	termed := *p
	termed.term = &engine.Term{Within: within, Then: unsettled}
	p.limiter.watchTerms()
	return &termed
}

// openOf returns up to most open reservations of a key, and nil if the store does not keep reservations: see
// [engine.Keeper]. It is for package core.
func (l *Limiter) openOf(ctx context.Context, key string, most int, under ...string) ([]*engine.Reservation, error) {
	keeper := engine.KeeperOf(l.store)
	if keeper == nil {
		return nil, nil
	}
	return keeper.OpenOf(ctx, key, most, under...)
}

// overdueEach is the interval between a limiter's searches for overdue reservations.
const overdueEach = time.Second

// watchTerms starts a goroutine that ends overdue reservations until Close. Only the first call starts it. If the store
// does not keep reservations, watchTerms does nothing.
func (l *Limiter) watchTerms() {
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

// endOverdue ends the overdue reservations. If ending one fails, the next tick retries it.
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
