package queue

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// Outliving returns a context for a call on behalf of several callers, with the values of the first. It ends some
// time after all the callers' contexts have ended, so that the charge of a late answer can be given back, or when end
// is called.
func Outliving(while time.Duration, callers ...context.Context) (ctx context.Context, end context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(callers[0]))
	present := new(atomic.Int64)
	present.Store(int64(len(callers)))
	stops := make([]func() bool, 0, len(callers))
	for _, caller := range callers {
		stops = append(stops, context.AfterFunc(caller, func() {
			if present.Add(-1) == 0 {
				time.AfterFunc(while, cancel)
			}
		}))
	}
	return ctx, func() {
		for _, stop := range slices.Backward(stops) {
			stop()
		}
		cancel()
	}
}
