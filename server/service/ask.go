package service

import (
	"context"
	"errors"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// ask has the store decide the operations and tells the watcher how it did. A
// call that began before the store failed says nothing about its return.
func (s *Service) ask(ctx context.Context, ops []engine.Op, results []headgate.Result) {
	watcher := s.config.Watcher
	away := watcher != nil && watcher.Away()
	for from := 0; from < len(ops); from += engine.MaxOps {
		to := min(from+engine.MaxOps, len(ops))
		s.config.Limiter.Do(ctx, ops[from:to], results[from:to])
	}
	if watcher == nil {
		return
	}
	answered, failed := false, false
	for i := range results {
		switch err := results[i].Err; {
		case err == nil:
			answered = answered || away && fromStore(&ops[i], &results[i])
		case storeFailed(err):
			failed = true
			watcher.Failed(err)
		}
	}
	if answered && !failed {
		watcher.Answered()
	}
}

// storeFailed reports whether an error is the store's: not one of the request,
// of a client that hung up, or of a server that stops.
func storeFailed(err error) bool {
	return classify(err).Code == Unavailable && !errors.Is(err, context.Canceled) && !errors.Is(err, headgate.ErrClosed)
}

// fromStore reports whether the store itself gave the result: not a layer that
// repeats or has prefetched it, nor a limit that needs no state.
func fromStore(op *engine.Op, r *headgate.Result) bool {
	if mode := r.Decision.Promise.Mode; mode != engine.Exact && mode != engine.Split {
		return false
	}
	for i := range op.Charges {
		if a := op.Charges[i].Limit.Algorithm(); a != algo.DenyAll && a != algo.Unlimited {
			return true
		}
	}
	return false
}
