package headgate

import (
	"context"
	"errors"
	"time"

	"github.com/headgate/headgate/engine"
)

// Unsettled is what happens to the charge of a reservation that was not settled in time: KeepCharge or ReleaseCharge.
// Units reported as used stay charged in any case, and permits are released.
type Unsettled = engine.Unsettled

// The values of Unsettled.
const (
	// KeepCharge keeps the reserved units charged.
	KeepCharge = engine.KeepCharge
	// ReleaseCharge gives the reserved units back.
	ReleaseCharge = engine.ReleaseCharge
)

// SettleWithin returns a copy of the policy with a term for its reservations: 1 ms to 7 days. A reservation ends if
// it is neither settled nor reported on within the term. Its permits are then released, and its charge is treated as then
// says. The store keeps open reservations, so they survive the process that made them. Overdue reservations are
// ended within about a second, by any limiter that uses the same store and has used a policy or a reservation with a
// term. A reservation is never delayed longer than its term.
//
// In a list of charges, the shortest term applies. If the term or then is out of range, [Policy.Err] and every method
// that reserves return an error.
func (p *Policy) SettleWithin(within time.Duration, then Unsettled) *Policy {
	termed := *p.orBroken()
	termed.term = &engine.Term{Within: within, Then: then}
	termed.limiter.watchTerms()
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
		ops, results := make([]engine.Op, len(due)), make([]engine.Answer, len(due))
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
