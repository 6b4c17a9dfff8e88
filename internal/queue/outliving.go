package queue

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// Outliving returns a context for a call on behalf of several callers. It carries the values of the first caller's
// context. It ends when end is called, or when the given time has elapsed since the last caller's context ended. The
// extra time lets a late answer arrive, so that its charge can be given back.
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
