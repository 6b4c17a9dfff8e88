// Package denycache repeats denials locally, without a call to the store.
//
// A key that was denied one unit stays denied for every caller until the decision's retry-after is over. Until that
// time this process repeats the denial, in a fraction of a microsecond. For a token bucket, whose refill is known, it
// forwards one request per refilled token to the store, and denies the others locally.
//
// No limit is exceeded. However, units can become available sooner: if a caller gives some back, resets the key or
// changes the limit, or if the store loses its data. A change through this store takes effect at once. A reset by
// another process takes effect as soon as its message arrives ([Config.Coordinator]). Any other change by another
// process, and a reset whose message is lost, takes effect when the denial reaches the age of [Config.MaxStale]. The
// decision has the mode [engine.Cached] and the age of the denial.
//
//	denycache.go  a call → cached answers, and operations for the store
//	denial.go     one denial, as time passes
//	block.go      the blocks of penalties, which deny requests of several limits
//	resets.go     resets by other processes
//	config.go     the settings and the counters
package denycache

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/layer/internal/forward"
	"github.com/headgate/headgate/layer/internal/keymap"
)

// Store is an [engine.Store] that wraps another. It is safe for concurrent use.
type Store struct {
	store       engine.Store
	coordinator engine.Coordinator // nil if resets are not shared with other processes
	maxStale    time.Duration
	except      func(*engine.Op) bool
	clock       func() time.Time
	table       *keymap.Map[id, *denial]

	life      context.Context // ends when the store is closed
	end       context.CancelFunc
	started   sync.Once
	listening sync.WaitGroup

	repeated, asked atomic.Int64
}

var _ engine.Store = (*Store)(nil)

// callBuffers holds the buffers for a call that is forwarded to the store.
type callBuffers struct {
	forward.Subset
	snapshots []snapshot
}

// snapshot describes an operation's key just before the operation is forwarded.
type snapshot struct {
	version uint64 // of its shard
	paced   bool   // whether it is forwarded because a token may have been refilled
}

var calls = sync.Pool{New: func() any { return new(callBuffers) }}

func (a *callBuffers) free() {
	a.Clear()
	a.snapshots = a.snapshots[:0]
	calls.Put(a)
}

// Do decides the operations. See [engine.Store].
func (s *Store) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	if s.coordinator != nil {
		s.started.Do(s.start)
	}
	if len(ops) == 1 {
		s.one(ctx, ops, results)
		return
	}
	a := calls.Get().(*callBuffers)
	defer a.free()
	now := s.clock()
	for i := range ops {
		if results[i].Err != nil {
			continue
		}
		before, repeated := s.repeat(ctx, &ops[i], &results[i], now)
		if repeated {
			s.repeated.Add(1)
			continue
		}
		s.forget(&ops[i])
		a.Add(i)
		a.snapshots = append(a.snapshots, before)
	}
	if len(a.From) == 0 {
		return
	}
	s.asked.Add(int64(len(a.From)))
	a.Do(ctx, s.store.Do, ops, results)
	received := s.clock()
	for n, i := range a.From {
		s.forget(&ops[i])
		s.remember(&ops[i], &results[i], now, received, a.snapshots[n])
	}
	if s.publishes(ops) {
		s.publish(ctx, ops, results)
	}
}

// one is like Do, for a call with one operation.
func (s *Store) one(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	if results[0].Err != nil {
		return
	}
	now := s.clock()
	before, repeated := s.repeat(ctx, &ops[0], &results[0], now)
	if repeated {
		s.repeated.Add(1)
		return
	}
	s.forget(&ops[0])
	s.asked.Add(1)
	s.store.Do(ctx, ops, results)
	s.forget(&ops[0])
	s.remember(&ops[0], &results[0], now, s.clock(), before)
	if s.publishes(ops) {
		s.publish(ctx, ops, results)
	}
}

// publishes reports whether other processes must learn about a call.
func (s *Store) publishes(ops []engine.Op) bool {
	return s.coordinator != nil && slices.ContainsFunc(ops, resets)
}

func resets(op engine.Op) bool { return op.Kind == engine.OpReset }

// repeats returns the index of the limit whose denials may be repeated: the first penalty that blocks (see penaltyOf).
// Otherwise it is the only limit of an allow of one unit, if no unit of this limit is available before the retry-after,
// and if Config.Except does not report the operation. If there is no such limit, repeats returns −1.
func (s *Store) repeats(op *engine.Op) int {
	switch op.Kind {
	case engine.OpAllow, engine.OpAtMost, engine.OpReserve:
	default:
		return -1
	}
	if i := penaltyOf(op); i >= 0 {
		return i
	}
	c := &op.Charges[0]
	if op.Kind != engine.OpAllow || len(op.Charges) != 1 || c.Cost != 1 || s.except != nil && s.except(op) || !c.Limit.Numbers().RepeatsDenials() {
		return -1
	}
	return 0
}

// penaltyOf returns the index of the first penalty with a cost. It returns −1 if there is no such
// penalty. It also returns −1 if another limit can never admit its cost. The answer must state this, so it must come
// from the store.
func penaltyOf(op *engine.Op) int {
	first := slices.IndexFunc(op.Charges, func(c engine.Charge) bool { return c.Cost > 0 && c.Limit.Punishes() })
	if first < 0 || slices.ContainsFunc(op.Charges, func(c engine.Charge) bool { return c.Cost > c.Limit.Numbers().Largest() }) {
		return -1
	}
	return first
}

// id identifies a limit's counter.
type id struct {
	space, key, name string
	algorithm        algo.Algorithm
}

// shard holds some of the denials. Its version increases when units may have been given back. Answers to earlier
// requests are not stored from then on.
type shard = keymap.Shard[id, *denial]

func idOf(op *engine.Op, i int) id {
	space, key := op.Subject(i)
	limit := op.Charges[i].Limit
	return id{space: space, key: key, name: limit.Name(), algorithm: limit.Algorithm()}
}

// repeat answers with a known denial if it covers the operation.
func (s *Store) repeat(ctx context.Context, op *engine.Op, r *engine.Answer, now time.Time) (before snapshot, repeated bool) {
	i := s.repeats(op)
	if i < 0 {
		return snapshot{}, false
	}
	name := idOf(op, i)
	h := s.table.Of(name.key)
	h.Lock()
	defer h.Unlock()
	before.version = h.Version
	known, ok := h.Known[name]
	if !ok || known.limit != op.Charges[i].Limit || ctx.Err() != nil {
		return before, false
	}
	if now.Before(known.received) {
		now = s.clock() // the denial arrived since then, or the clock was set back
	}
	switch {
	case now.Before(known.received):
	case known.repeats(now):
		*r = known.at(now)
		if len(op.Charges) > 1 {
			byOne(op, i, r)
		}
		return before, true
	case known.paces(now):
		known.asked++
		known.flying++
		before.paced = true
		return before, false
	}
	delete(h.Known, name)
	return before, false
}

// forget drops denials when an operation gives units back to their keys. It runs before and after the operation,
// because the operation takes effect in between.
func (s *Store) forget(op *engine.Op) {
	if op.Kind != engine.OpGive && op.Kind != engine.OpReset && op.Kind != engine.OpSettle {
		return
	}
	for i := range op.Charges {
		name := idOf(op, i)
		h := s.table.Of(name.key)
		h.Lock()
		delete(h.Known, name)
		h.Version++
		h.Unlock()
	}
}

// remember stores a denial, unless units may have been given back since the request was sent, or a later denial is
// known. If a forwarded request did not take its token, remember lets another request take it.
func (s *Store) remember(op *engine.Op, r *engine.Answer, sent, received time.Time, before snapshot) {
	denied := r.Err == nil && !r.Allowed && r.Binds().RetryAfter != engine.Never && r.Promise == engine.Promise{}
	if !denied && !before.paced {
		return
	}
	i := s.repeats(op)
	if i < 0 {
		return
	}
	d := r.Keep(i)
	denied = denied && d.Binds().RetryAfter > 0
	name := idOf(op, i)
	h := s.table.Of(name.key)
	h.Lock()
	defer h.Unlock()
	known := h.Known[name]
	if known != nil && before.paced && !known.confirm(r, received) {
		delete(h.Known, name)
		return
	}
	if !denied || h.Version != before.version || known != nil && known.outcome.AtMicros > d.AtMicros {
		return
	}
	kept := keep(op.Charges[i].Limit, &d, sent, received, s.maxStale)
	if !kept.repeats(received) && !kept.paces(received) {
		return
	}
	if known != nil {
		kept.flying, kept.asked = known.flying, known.flying
		*known = kept // an assignment to h.Known would replace this layer's copy of the key by the caller's
		return
	}
	if !hasRoom(h, received) {
		return
	}
	name.space, name.key = strings.Clone(name.space), strings.Clone(name.key)
	h.Known[name] = &kept
}

// hasRoom reports whether there is room for one more denial.
func hasRoom(h *shard, now time.Time) bool {
	return h.HasRoom(func(known *denial) bool { return !known.repeats(now) && !known.paces(now) })
}
