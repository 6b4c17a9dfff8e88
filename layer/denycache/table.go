package denycache

import (
	"context"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/layer/internal/keymap"
)

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
