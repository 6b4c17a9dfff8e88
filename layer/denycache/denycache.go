// Package denycache repeats denials, so that the store is not asked for what is known.
//
// A key that was denied one unit is denied until the time that its decision named,
// whoever asks. Until then this process repeats the denial, in a fraction of a
// microsecond. Of a token bucket it also knows how units come in: it lets as many
// requests through to the store as units can have come in, and denies the others.
//
// No limit is exceeded by that. But units can come back sooner: somebody gives some
// back, resets the key, changes the limit, or the store loses its data. What goes
// through this store takes effect at once. What other processes do takes effect when the
// denial is as old as [Config.MaxStale]. The decision says [engine.Cached] and how old
// it is.
//
//	denycache.go  a call → what is known here, and what the store is asked
//	denial.go     one denial, as time goes by
//	config.go     what can be set, and what is counted
package denycache

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/layer/internal/forward"
	"github.com/headgate/headgate/layer/internal/keymap"
)

// Store is a [engine.Store] in front of another.
type Store struct {
	store    engine.Store
	maxStale time.Duration
	except   func(*engine.Op) bool
	clock    func() time.Time
	table    *keymap.Map[id, *refusal]

	repeated, asked atomic.Int64
}

var _ engine.Store = (*Store)(nil)

// asking is the memory of a call that has to ask.
type asking struct {
	forward.Rest
	seen []seen
}

// seen is what was known of an operation's key before it was asked about.
type seen struct {
	version uint64 // of its shard
	paced   bool   // it is asked for a unit that may have come in
}

var askings = sync.Pool{New: func() any { return new(asking) }}

func (a *asking) free() {
	a.Clear()
	a.seen = a.seen[:0]
	askings.Put(a)
}

// Do decides the operations. See [engine.Store].
func (s *Store) Do(ctx context.Context, ops []engine.Op, results []engine.Result) {
	if len(ops) == 1 {
		s.one(ctx, ops, results)
		return
	}
	a := askings.Get().(*asking)
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
		a.seen = append(a.seen, before)
	}
	if len(a.From) == 0 {
		return
	}
	s.asked.Add(int64(len(a.From)))
	a.Do(ctx, s.store, ops, results)
	heard := s.clock()
	for n, i := range a.From {
		s.forget(&ops[i])
		s.remember(&ops[i], &results[i], now, heard, a.seen[n])
	}
}

// one is Do for the only operation of a call.
func (s *Store) one(ctx context.Context, ops []engine.Op, results []engine.Result) {
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
}

// repeats reports whether a refusal of an operation may be repeated: of one unit
// of one limit, since nothing is left then until it passes; not where refusals
// are counted, nor of a pacer, whose queue moves.
func (s *Store) repeats(op *engine.Op) bool {
	if op.Kind != engine.OpAllow || len(op.Charges) != 1 || op.Charges[0].Cost != 1 || s.except != nil && s.except(op) {
		return false
	}
	switch l := op.Charges[0].Limit.Numbers(); l.Algorithm {
	case algo.TokenBucket, algo.FixedWindow, algo.SlidingWindow, algo.SlidingLog:
		return !l.CountDenied
	default:
		return false
	}
}

// id is what a limit's state is called.
type id struct {
	space, key, name string
	algorithm        algo.Algorithm
}

// shard is a part of what is known. Its version grows when units may have come
// back: what was asked before is not kept.
type shard = keymap.Shard[id, *refusal]

func idOf(op *engine.Op, i int) id {
	space, key := op.Subject(i)
	limit := op.Charges[i].Limit
	return id{space: space, key: key, name: limit.Name(), algorithm: limit.Algorithm()}
}

// repeat answers with what is known, if that is enough.
func (s *Store) repeat(ctx context.Context, op *engine.Op, r *engine.Result, now time.Time) (before seen, repeated bool) {
	if !s.repeats(op) {
		return seen{}, false
	}
	name := idOf(op, 0)
	h := s.table.Of(name.key)
	h.Lock()
	defer h.Unlock()
	before.version = h.Version
	known, ok := h.Known[name]
	if !ok || known.limit != op.Charges[0].Limit || ctx.Err() != nil {
		return before, false
	}
	if now.Before(known.heard) {
		now = s.clock() // it was heard since then, or the clock was set back
	}
	switch {
	case now.Before(known.heard):
	case known.repeats(now):
		r.Outcome = known.at(now)
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

// forget drops what is known of the keys that an operation gives units back to:
// before it is asked and again afterwards, since it takes effect in between.
func (s *Store) forget(op *engine.Op) {
	if op.Kind != engine.OpGive && op.Kind != engine.OpReset {
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

// remember keeps a refusal, unless units may have come back since it was asked, or
// a later one is known; and has others ask for what one who went to ask did not
// take.
func (s *Store) remember(op *engine.Op, r *engine.Result, sent, heard time.Time, before seen) {
	d := &r.Outcome
	refused := r.Err == nil && !d.Allowed && d.RetryAfter != engine.Never && d.Promise == engine.Promise{}
	if !refused && !before.paced || !s.repeats(op) {
		return
	}
	name := idOf(op, 0)
	h := s.table.Of(name.key)
	h.Lock()
	defer h.Unlock()
	known := h.Known[name]
	if known != nil && before.paced && !known.hear(r, heard) {
		delete(h.Known, name)
		return
	}
	if !refused || h.Version != before.version || known != nil && known.outcome.AtMicros > d.AtMicros {
		return
	}
	kept := keep(op.Charges[0].Limit, d, sent, heard, s.maxStale)
	if !kept.repeats(heard) && !kept.paces(heard) {
		return
	}
	if known != nil {
		kept.flying, kept.asked = known.flying, known.flying
		*known = kept // an assignment to h.Known would put the caller's key in place of ours
		return
	}
	if !hasRoom(h, heard) {
		return
	}
	name.space, name.key = strings.Clone(name.space), strings.Clone(name.key)
	h.Known[name] = &kept
}

// hasRoom reports whether there is room for one more refusal.
func hasRoom(h *shard, now time.Time) bool {
	return h.HasRoom(func(known *refusal) bool { return !known.repeats(now) && !known.paces(now) })
}
