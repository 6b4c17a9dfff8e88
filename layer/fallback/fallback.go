// Package fallback answers while the store is away: each process then enforces its share
// of the limits by itself.
//
// With n processes, a share is 1/n of a limit's rate and capacity ([engine.Share]). A key
// begins an outage with 1/n of what it had left when the store last answered, so that an
// outage does not hand out a fresh quota. All processes together exceed a limit by at most
// its capacity, once an outage: the decision's mode is [engine.Fallback], and
// OvershootMax is that capacity.
//
// The store is away when it does not answer in time, or cannot be reached. A wrong
// password, a missing permission, a full server or a state that cannot be read is an error
// as before, and so is an operation that is no allow, peek, at most, count or acquire. A call
// whose context was cancelled, or had ended before it began, says nothing about the store.
//
// If calls have failed for a while without an answer between them, no call waits for the
// store any more. It is then tried beside the calls, and used again once it has answered
// several times.
//
// A charge that too few replicas have ([engine.ErrNotReplicated]) passes if the share allows it
// too: what a failover loses of such charges is then within the bound. The store is not away,
// and is used as before.
//
// A store that comes back without its data is not believed: for the time in which a limit
// recovers, its shares go on, and the store has to allow the request too.
//
//	fallback.go   a call → the store, or the shares
//	share.go      one operation, decided by the shares
//	remember.go   what keys have left
//	permits.go    permits of concurrency limits that shares gave
//	breaker.go    whether the store is used
//	processes.go  how many processes there are, and whether the store lost its data
//	config.go     the settings
package fallback

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/internal/forward"
	"github.com/headgate/headgate/memstore"
)

// Store is an [engine.Store] in front of another. It is safe for use by many goroutines.
type Store struct {
	store     engine.Store
	config    Config
	own       *memstore.Store // the counters of outages
	known     *memory
	breaker   breaker
	permits   permits
	processes processes

	answered atomic.Int64
	end      context.CancelFunc
	works    sync.WaitGroup
}

var _ engine.Store = (*Store)(nil)

// New returns a store in front of another, and closes that one in its Close. The
// coordinator knows how many processes there are; usually it is the store behind all
// layers. The error is an [*engine.InputError] for a Config out of its ranges.
func New(store engine.Store, coordinator engine.Coordinator, c Config) (*Store, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	own, err := memstore.New(c.Memory)
	if err != nil {
		return nil, err
	}
	s := &Store{store: store, config: c, own: own, known: newMemory(c.MaxKeys, c.Memory.Clock().UnixMicro())}
	s.processes.init(coordinator, &s.config)
	s.breaker.probe, s.breaker.back, s.breaker.opened, s.breaker.slow = s.probe, s.processes.hurry, make(chan struct{}, 1), c.Slow
	life, end := context.WithCancel(context.Background())
	s.end = end
	s.works.Go(func() { s.processes.run(life) })
	s.works.Go(func() { s.breaker.run(life) })
	return s, nil
}

// Unwrap returns the store behind.
func (s *Store) Unwrap() engine.Store { return s.store }

// Stats is what a store knows of itself.
type Stats struct {
	// Answered is how many operations were answered by shares.
	Answered int64
	// Outages is how often the store was no longer used.
	Outages int64
	// Processes is of how many processes this one takes its share; 0 means not known.
	Processes int
	// Away reports that the store is not used now.
	Away bool
	// Losses is how often the store came back without its data.
	Losses int64
}

// Stats returns the store's counts.
func (s *Store) Stats() Stats {
	return Stats{
		Answered: s.answered.Load(), Outages: s.breaker.outages.Load(), Processes: s.processes.count(),
		Away: s.breaker.open.Load(), Losses: s.processes.losses.Load(),
	}
}

// Members returns the name of this process in its group, and the names of all members as
// the last answered beat returned them, sorted: up to [engine.MaxMembers].
func (s *Store) Members() (own string, all []string) { return s.processes.members() }

// Cause returns why the store is not there: the error of the last failed call, or nil if
// one was answered since.
func (s *Store) Cause() error {
	if err := s.breaker.cause.Load(); err != nil {
		return *err
	}
	return nil
}

var rests = sync.Pool{New: func() any { return new(forward.Rest) }}

// Do decides the operations. See [engine.Store].
func (s *Store) Do(ctx context.Context, ops []engine.Op, results []engine.Result) {
	if s.permits.until.Load() != 0 && s.permits.alive(s.config.Memory.Clock().UnixMicro()) {
		if left, kept := s.keepOwn(ops, results); kept {
			s.doLeft(ctx, left, ops, results)
			return
		}
	}
	s.decide(ctx, ops, results)
}

// doLeft decides the operations at some places of a call.
func (s *Store) doLeft(ctx context.Context, left []int, ops []engine.Op, results []engine.Result) {
	if len(left) == 0 {
		return
	}
	rest := rests.Get().(*forward.Rest)
	for _, i := range left {
		rest.Add(i)
	}
	rest.Do(ctx, via(s.decide), ops, results)
	rest.Clear()
	rests.Put(rest)
}

// via is a store that decides by a function.
type via func(ctx context.Context, ops []engine.Op, results []engine.Result)

func (f via) Do(ctx context.Context, ops []engine.Op, results []engine.Result) { f(ctx, ops, results) }

func (via) Close() error { return nil }

// decide decides operations that are not about permits that shares gave.
func (s *Store) decide(ctx context.Context, ops []engine.Op, results []engine.Result) {
	switch {
	case s.breaker.open.Load():
		fail(results, fmt.Errorf("%w: it does not answer", engine.ErrStoreUnavailable))
		s.instead(ops, results)
	case s.processes.lost.Load() != 0:
		s.doubt(ctx, ops, results)
	default:
		s.ask(ctx, ops, results)
	}
}

// fail puts an error into the results that have none.
func fail(results []engine.Result, err error) {
	for i := range results {
		if results[i].Err == nil {
			results[i].Err = err
		}
	}
}

// ask lets the store decide, and answers what it does not.
func (s *Store) ask(ctx context.Context, ops []engine.Op, results []engine.Result) {
	ended := ctx.Err() != nil
	s.store.Do(ctx, ops, results)
	for i := range results {
		if results[i].Err == nil && s.decides(&ops[i]) {
			s.remember(&ops[i], &results[i].Outcome)
		}
	}
	if !ended && s.hear(results) {
		s.instead(ops, results)
	}
}

// hear tells the breaker what a call says of the store, and reports whether the store did
// not answer, or could not confirm, some of it.
func (s *Store) hear(results []engine.Result) (failed bool) {
	answered, lacking, cause := false, false, error(nil)
	for i := range results {
		switch r := &results[i]; {
		case r.Err == nil:
			answered = answered || r.Outcome.Promise.Mode == engine.Exact || r.Outcome.Promise.Mode == engine.Split
		case unconfirmed(r.Err):
			answered, lacking = true, true
		case Away(r.Err):
			cause = r.Err
		}
	}
	switch {
	case cause != nil:
		s.breaker.failed(cause, answered)
	case answered:
		s.breaker.answered()
	}
	return cause != nil || lacking
}

// instead answers the operations that failed because the store is away.
func (s *Store) instead(ops []engine.Op, results []engine.Result) {
	for i := range ops {
		if r := &results[i]; r.Err != nil && (s.answers(&ops[i]) && Away(r.Err) || s.decides(&ops[i]) && unconfirmed(r.Err)) {
			s.share(&ops[i], r)
		}
	}
}

// answers reports whether operations like this one are answered by shares.
func (s *Store) answers(op *engine.Op) bool {
	return s.decides(op) || op.Kind == engine.OpAcquire && (op.Local || s.config.All)
}

// decides reports the same of those that say what a key has left.
func (s *Store) decides(op *engine.Op) bool {
	if !op.Local && !s.config.All {
		return false
	}
	return op.Kind == engine.OpAllow || op.Kind == engine.OpPeek || op.Kind == engine.OpAtMost || op.Kind == engine.OpCount
}

// Away reports whether an error says that the store did not answer or cannot be reached.
// An error that has a method Away tells by it.
func Away(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, engine.ErrClosed) || errors.Is(err, engine.ErrInvalid) || unconfirmed(err) {
		return false
	}
	if told, ok := errors.AsType[interface {
		error
		Away() bool
	}](err); ok {
		return told.Away()
	}
	return errors.Is(err, engine.ErrStoreUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// unconfirmed reports whether an error says that the store charged the operation, and that
// too few replicas have the charge. A permit that was acquired so is not given by a share too:
// its holder gives it up.
func unconfirmed(err error) bool { return errors.Is(err, engine.ErrNotReplicated) }

// doubt decides while some limits have not recovered since the store lost its data: their
// operations pass if both the share and the store allow them.
func (s *Store) doubt(ctx context.Context, ops []engine.Op, results []engine.Result) {
	if err := ctx.Err(); err != nil {
		fail(results, err)
		return
	}
	rest := rests.Get().(*forward.Rest)
	defer func() {
		rest.Clear()
		rests.Put(rest)
	}()
	doubted := make(map[int]engine.Result)
	for i := range ops {
		if results[i].Err == nil && s.decides(&ops[i]) && s.doubts(&ops[i]) {
			var r engine.Result
			if s.share(&ops[i], &r); r.Err == nil {
				if doubted[i] = r; !r.Outcome.Allowed {
					results[i] = r
					continue
				}
			}
		}
		if results[i].Err == nil {
			rest.Add(i)
		}
	}
	if len(rest.From) == 0 {
		return
	}
	rest.Do(ctx, via(func(ctx context.Context, ops []engine.Op, results []engine.Result) {
		s.store.Do(ctx, ops, results)
		s.hear(results)
	}), ops, results)
	for i, r := range doubted {
		switch d := &results[i]; {
		case d.Err != nil && (Away(d.Err) || unconfirmed(d.Err)) || d.Err == nil && d.Outcome.Allowed:
			*d = r
		case d.Err == nil:
			d.Outcome.Promise = r.Outcome.Promise
		}
	}
	s.instead(ops, results) // what was believed, and failed
}

// Close closes the store behind. It ends the goroutines of this one.
func (s *Store) Close() error {
	s.end()
	s.works.Wait()
	s.processes.leave()
	return errors.Join(s.own.Close(), s.store.Close())
}
