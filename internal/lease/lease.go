// Package lease renews units that are held for a limited time.
package lease

import (
	"context"
	"time"
)

// Keep calls renew at intervals of a third of the term, until ctx ends, done is closed or the units are lost. The units
// are lost if renew reports it, or if renew still fails at the instant that expires returns. Keep reports whether they
// were lost.
func Keep(ctx context.Context, done <-chan struct{}, term time.Duration, expires func() time.Time, renew func(context.Context) (lost bool, err error)) (lost bool) {
	ticker := time.NewTicker(max(term/3, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-done:
			return false
		case <-ticker.C:
		}
		attempt, cancel := context.WithDeadline(ctx, expires())
		lost, err := renew(attempt)
		cancel()
		if lost || err != nil && !time.Now().Before(expires()) {
			return true
		}
	}
}
