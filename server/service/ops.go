package service

import (
	"context"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
)

// DoOps decides operations that a front end made itself, because its limits are no
// policies. Results has the length of ops. An error in a result is an [*Error]; no failure
// mode applies.
//
// The deadline takes the place of [Config.Deadline]: it bounds the call of the store, to
// three quarters of what the caller's context leaves if that is less. 0 sets no bound.
func (s *Service) DoOps(ctx context.Context, deadline time.Duration, ops []engine.Op, results []headgate.Result) {
	caller := ctx
	if deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = within(ctx, deadline)
		defer cancel()
	}
	var began time.Time
	if s.config.Observer != nil {
		began = time.Now()
	}
	if s.decide(ctx, ops, results) {
		s.config.Watcher.Replied(repliesOfOps(results, s.config.OpsFailure))
	}
	if s.config.Observer != nil {
		s.observe(Observed{Context: caller, FrontEnd: GRPC, Ops: ops, Results: results, Began: began})
	}
	for i := range results {
		if err := results[i].Err; err != nil {
			results[i].Err = classify(err)
		}
	}
}
