package core

import (
	"context"
	"errors"
	"time"

	"github.com/headgate/headgate/engine"
)

// OpenOf returns the open reservations that have a term and charged the given key, up to the given maximum number. It
// returns nil if the store does not keep reservations. On a single Redis, it reads all open reservations. On a Cluster,
// it finds a reservation on a fair-share limit only by the key of the limit's counter ([engine.Limit.Counts]).
func (l *Limiter) OpenOf(ctx context.Context, key string, most int, under ...string) ([]*engine.Reservation, error) {
	keeper := engine.KeeperOf(l.store)
	if keeper == nil {
		return nil, nil
	}
	return keeper.OpenOf(ctx, key, most, under...)
}

// overdueEach is the interval between a limiter's searches for overdue reservations.
const overdueEach = time.Second

// WatchTerms makes the limiter end overdue reservations, including other processes' reservations, until Close. A
// reserve with a term has the same effect. If the store does not keep reservations, WatchTerms does nothing.
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
					if errors.Is(l.endOverdue(keeper), engine.ErrClosed) {
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
