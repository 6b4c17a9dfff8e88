// Package fallback decides requests while the store is unavailable: each process enforces its own share of the limits.
//
// With n processes, a share is a bucket with 1/n of a limit's rate and capacity, but at least one unit, for each of the
// limit's windows ([engine.Shares]). It is whole if the store has acknowledged a write of this process; otherwise it is
// empty when the process starts, and refills. If the process remembers the units that remained at the store's last
// answer, the share starts with at most 1/n of them. The decision has the mode [engine.Fallback] and the OvershootMax
// from [engine.SharesBound].
//
// The store is unavailable if it does not answer in time, cannot be reached, or answers that it cannot decide
// ([engine.Away]). Gives and resets return errors while the store is unavailable. A call whose context had ended before
// the call does not show whether the store is unavailable.
//
// A share decides a reserve like an allow, without a delay, and this process settles it. A settlement that does not
// reach the store is kept and sent later, unless the reservation ends first. A permit granted by a share is sent to
// the store as soon as it answers, even if it exceeds the limit. An acquire with an unknown outcome is released in
// the background.
//
// If calls in a row, or the member's beats, have no answer, the store is tested in the background. If it fails the tests
// for a while, calls stop waiting for it. It is used again once it has passed several tests in a row.
//
// A store is in doubt if it has lost all of its data or the newest part of it. After a loss, until a limit has recovered
// ([algo.Limit.RecoversAt]), its answers have the mode [engine.Fallback]. Keys whose remaining units this process
// remembers are held to these units, refilled since, and the store must allow the request too, in every failure mode.
// The store alone decides all other keys, and operations with [engine.Hints].Lenient.
//
//	fallback.go   a call → the store, or the shares
//	share.go      one operation, decided by the shares
//	doubt.go      operations on a store that has lost data
//	remember.go   remembers the remaining units of keys
//	permits.go    permits of concurrency limits, granted by shares
//	settle.go     reservations granted by shares
//	outbox.go     updates to send to the store once it answers
//	lanes.go      parts of a store that can be unavailable independently
//	breaker.go    decides whether to use a part
//	contact.go    which parts have answered, and the store's time
//	processes.go  how many processes share the limits
//	config.go     the settings
package fallback

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/internal/forward"
	"github.com/headgate/headgate/layer/membership"
	"github.com/headgate/headgate/memstore"
)

// Store is an [engine.Store] that wraps another. It is safe for concurrent use.
type Store struct {
	store     engine.Store
	config    Config
	own       *memstore.Store // the counters for outages
	known     *memory         // remaining units, as last answered by the store
	denied    *memory         // keys without units, and until when the store has denied them
	lanes     lanes
	contact   contact
	permits   permits
	outbox    outbox
	member    *membership.Member
	leave     func()
	name      string // of this process, among the members
	processes processes
	began     time.Time
	beaten    atomic.Int64 // when the last beat was answered, in ns since 1970

	answered atomic.Int64
	doubted  atomic.Int64 // the end of the longest recovery seen, in µs since 1970
	end      context.CancelFunc
	works    sync.WaitGroup
}

var _ engine.Store = (*Store)(nil)

// New wraps store. Close also closes it. The member counts the processes and detects that the store has lost data. It
// beats until Close. If a value in c is out of range, the error is an [*engine.InputError].
func New(store engine.Store, member *membership.Member, c Config) (*Store, error) {
	if err := c.check(member); err != nil {
		return nil, err
	}
	s := &Store{store: store, config: c, known: newMemory(c.MaxKeys), denied: newMemory(c.MaxKeys), began: c.Memory.Clock(), member: member}
	counters := c.Memory
	counters.Clock = s.clock
	var err error
	if s.own, err = memstore.New(counters); err != nil {
		return nil, err
	}
	s.processes.expect, s.processes.clock = c.Expect, c.Memory.Clock
	s.contact.heard = make([]atomic.Bool, c.Lanes)
	s.makeLanes(&c)
	life, end := context.WithCancel(context.Background())
	s.end = end
	s.outbox.wake = make(chan struct{}, 1)
	s.name, _ = member.Members()
	s.beaten.Store(time.Now().UnixNano())
	s.leave = member.Start(func(number int) {
		s.beaten.Store(time.Now().UnixNano())
		s.processes.observe(number)
	})
	s.works.Go(func() { s.flushOutbox(life) })
	s.works.Go(func() { s.hearAll(life) })
	s.works.Go(func() { s.watchBeats(life) })
	for i := range s.lanes.each {
		s.works.Go(func() { s.lanes.each[i].run(life) })
	}
	return s, nil
}

// Join sends the process's first beat. Call it before the first decision: after New alone, the store is trusted until
// the background has sent the beat, although other processes may have noticed that it has lost data.
func (s *Store) Join(ctx context.Context) error {
	if err := s.member.Beat(ctx); err != nil {
		return err
	}
	_ = s.hear(ctx, s.unheard()...) // the background sends again what fails
	return nil
}

// AcceptLoss records that an operator accepts the last loss of the store's data: see [membership.AcceptLoss].
func (s *Store) AcceptLoss(ctx context.Context) (lost bool, err error) {
	return s.member.AcceptLoss(ctx)
}

// Unwrap returns the wrapped store.
func (s *Store) Unwrap() engine.Store { return s.store }

// KeepRoom gives each of the namespaces a part of the memory for outages: see [memstore.Store.KeepRoom]. A client that
// makes up keys of one policy in an outage can then not deny the new keys of another.
func (s *Store) KeepRoom(spaces ...string) { s.own.KeepRoom(spaces...) }

// Stats contains a store's counters.
type Stats struct {
	// Answered is the number of operations answered by shares.
	Answered int64
	// Outages is the number of times that the store or one of its parts was taken out of use.
	Outages int64
	// Processes is the number of processes that share the limits: each has a share of 1/Processes. 0 means unknown.
	Processes int
	// Expected is [Config.Expect].
	Expected int
	// Away is set while the store, or a part of it, is out of use.
	Away bool
	// Losses is the number of times that the store came back without its data.
	Losses int64
	// Lost is when the store last lost data, even if another process noticed it before this one started. It is zero if
	// no loss is known, or if an operator has accepted it. Until the limits have recovered, keys that were remembered
	// are held to the units that they had, except with [engine.Hints].Lenient.
	Lost time.Time
	// DoubtedUntil is when all limits that requests have used since the loss will have recovered from it.
	DoubtedUntil time.Time
	// Owed is the number of settlements and permits to be sent to the store as soon as it answers.
	Owed int64
	// Unsettled is the number of settlements that could not be sent before their reservations ended. Their units stay
	// spent.
	Unsettled int64
}

// Stats returns the store's counters.
func (s *Store) Stats() Stats {
	n, _ := s.processes.count()
	stats := Stats{
		Answered: s.answered.Load(), Processes: int(n), Expected: s.processes.expect,
		Away: s.lanes.open.Load() > 0, Losses: s.member.Losses(),
		Owed: s.outbox.count.Load(), Unsettled: s.outbox.lost.Load(),
	}
	if lost := s.lost(); lost != 0 {
		stats.Lost, stats.DoubtedUntil = time.UnixMicro(lost), time.UnixMicro(max(lost, s.doubted.Load()))
	}
	for i := range s.lanes.each {
		stats.Outages += s.lanes.each[i].outages.Load()
	}
	return stats
}

// Members returns the name of this process in its group, and the sorted names of all members from the last answered
// beat: up to [engine.MaxMembers].
func (s *Store) Members() (own string, all []string) { return s.member.Members() }

// Cause returns the reason why the store is unavailable: the error of the last failed call. It returns nil if the last
// call was answered. If there are several lanes, it is the reason for the first lane that has one.
func (s *Store) Cause() error {
	for i := range s.lanes.each {
		if err := s.lanes.each[i].cause.Load(); err != nil {
			return *err
		}
	}
	return nil
}

// Do decides the operations. See [engine.Store].
func (s *Store) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	if !hold(ops) {
		s.decide(ctx, ops, results)
		return
	}
	kept, outside, given := s.keepOwn(ops, results), s.outside(ops), s.outbox.given.Load()
	suspended := s.outbox.suspend(ctx, ops)
	s.settles(ctx, ops, results)
	meantime := s.outbox.given.Load() != given
	for i := range ops {
		op, r := &ops[i], &results[i]
		own, shared := kept[i]
		switch {
		case shared:
			s.kept(op, r, own)
		case op.Kind == engine.OpAcquire || hasPermits(op):
			s.acquired(op, r, outside[i] || meantime)
		case op.Kind == engine.OpRenew && r.Err == nil && !r.Allowed:
			s.releaseShare(op) // it has ended in the store
		case op.Kind == engine.OpRelease && (engine.Away(r.Err) || unknown(r.Err)):
			s.queueRelease(op)
		case op.Kind == engine.OpSettle && !ofShares(op):
			s.settled(op, r)
		}
	}
	s.outbox.resume(suspended)
}

// hold reports whether one of the operations concerns a permit or an existing reservation.
func hold(ops []engine.Op) bool {
	for i := range ops {
		if k := ops[i].Kind; k >= engine.OpAcquire && k <= engine.OpRelease || k == engine.OpSettle || k == engine.OpReserve && hasPermits(&ops[i]) {
			return true
		}
	}
	return false
}

// decide sends operations to the store, or decides them by shares.
func (s *Store) decide(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	if s.lanes.open.Load() > 0 {
		s.around(ctx, ops, results)
		return
	}
	s.consult(ctx, ops, results)
}

// consult decides operations that use no unavailable lane. The store decides them and, after a loss of data, also what
// this process remembers.
func (s *Store) consult(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	if s.member.Lost() != 0 {
		s.doubt(ctx, ops, results)
		return
	}
	s.ask(ctx, ops, results)
}

// ask sends the operations to the store. Shares decide the operations that the store does not answer.
func (s *Store) ask(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	ended := ctx.Err() != nil
	s.store.Do(ctx, ops, results)
	s.rememberAll(ops, results)
	if !ended && s.observe(ops, results) {
		s.fallBack(ops, results)
	}
}

// observed sends the operations to the store and reports its answers to the breakers.
func (s *Store) observed(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	s.store.Do(ctx, ops, results)
	s.observe(ops, results)
}

// rest contains the operations of a call that this process does not decide by itself.
type rest struct{ forward.Subset }

var rests = sync.Pool{New: func() any { return new(rest) }}

func newRest() *rest { return rests.Get().(*rest) }

func (r *rest) free() {
	r.Clear()
	rests.Put(r)
}

// fallBack uses shares to answer the operations that failed because the store is unavailable. Operations that shares
// do not answer keep their errors.
func (s *Store) fallBack(ops []engine.Op, results []engine.Answer) {
	for i := range ops {
		if r := &results[i]; r.Err != nil && s.answers(&ops[i]) && engine.Away(r.Err) {
			s.share(&ops[i], r)
		}
	}
}

// answers reports whether shares answer operations like this one.
func (s *Store) answers(op *engine.Op) bool {
	return s.decides(op) || op.Kind == engine.OpAcquire && !op.Hints.NoShare
}

// decides reports whether shares answer operations like this one and these answers contain the remaining units.
func (s *Store) decides(op *engine.Op) bool {
	return !op.Hints.NoShare && shows(op.Kind)
}

// shows reports whether answers to operations of a kind contain the remaining units.
func shows(k engine.Kind) bool {
	return k == engine.OpPeek || k.Takes() && k != engine.OpAcquire
}

// Close closes the wrapped store and stops the layer's goroutines.
func (s *Store) Close() error {
	s.end()
	s.works.Wait()
	s.leave()
	return errors.Join(s.own.Close(), s.store.Close())
}
