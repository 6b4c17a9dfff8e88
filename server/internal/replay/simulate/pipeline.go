package simulate

import (
	"context"
	"sync"

	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/replay/accesslog"
)

// stage is a batch of requests on its way through the pipeline: read, routed, decided.
type stage struct {
	requests []accesslog.Request
	routed   []decide.Request
	found    []bool
	answers  []Answer
}

// stages recycles the memory of stages.
var stages = sync.Pool{New: func() any { return new(stage) }}

// decideAll decides the requests of a log in order. It passes every request and its answer to the function each, in
// the same order. Routing, deciding and counting each run in their own goroutine.
func (s *Simulation) decideAll(ctx context.Context, log *accesslog.Log, each func(q *accesslog.Request, a *Answer)) error {
	routed, decided := make(chan *stage, 2), make(chan *stage, 2)
	var running sync.WaitGroup
	running.Go(func() {
		defer close(decided)
		for b := range routed {
			for i := range b.requests {
				b.answers = append(b.answers, s.answer(ctx, &b.requests[i], &b.routed[i], b.found[i]))
			}
			decided <- b
		}
	})
	running.Go(func() {
		for b := range decided {
			for i := range b.requests {
				each(&b.requests[i], &b.answers[i])
			}
			b.free()
		}
	})
	err := log.Run(ctx, func(batch []accesslog.Request) error {
		b := stages.Get().(*stage)
		b.requests = batch
		for i := range batch {
			request, ok := s.find(&batch[i])
			b.routed, b.found = append(b.routed, request), append(b.found, ok)
		}
		routed <- b
		return ctx.Err()
	})
	close(routed)
	running.Wait()
	return err
}

// free clears the stage's pointers and returns its memory to the pool.
func (b *stage) free() {
	clear(b.routed)
	clear(b.answers)
	*b = stage{routed: b.routed[:0], found: b.found[:0], answers: b.answers[:0]}
	stages.Put(b)
}
