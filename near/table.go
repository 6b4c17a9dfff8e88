package near

import (
	"context"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/algo"
)

// id is what a limit's state is called.
type id struct {
	space, key, name string
	algorithm        algo.Algorithm
}

const shards = 64

// shard is a part of what is known.
type shard struct {
	mu    sync.Mutex
	known map[id]refusal
	// version grows when units may have come back: what was asked before is
	// not kept.
	version uint64
}

func idOf(op *headgate.Op, i int) id {
	space, key := op.Subject(i)
	limit := op.Charges[i].Limit
	return id{space: space, key: key, name: limit.Name(), algorithm: limit.Algorithm()}
}

func (s *Store) shard(key string) *shard { return &s.shards[maphash.String(s.seed, key)%shards] }

// repeat answers with what is known. Where nothing is, it returns the version of
// the operation's shard before it is asked.
func (s *Store) repeat(ctx context.Context, op *headgate.Op, r *headgate.Result, now time.Time) (version uint64, repeated bool) {
	if !s.repeats(op) {
		return 0, false
	}
	name := idOf(op, 0)
	h := s.shard(name.key)
	h.mu.Lock()
	defer h.mu.Unlock()
	known, ok := h.known[name]
	if !ok || known.limit != op.Charges[0].Limit || ctx.Err() != nil {
		return h.version, false
	}
	if !now.Before(known.until) || now.Before(known.heard) {
		delete(h.known, name)
		return h.version, false
	}
	r.Decision = known.at(now)
	return 0, true
}

// forget drops what is known of the keys that an operation gives units back to:
// before it is asked and again afterwards, since it takes effect in between.
func (s *Store) forget(op *headgate.Op) {
	if op.Kind != headgate.OpGive && op.Kind != headgate.OpReset {
		return
	}
	for i := range op.Charges {
		name := idOf(op, i)
		h := s.shard(name.key)
		h.mu.Lock()
		delete(h.known, name)
		h.version++
		h.mu.Unlock()
	}
}

// remember keeps a refusal, unless units may have come back since it was asked.
func (s *Store) remember(op *headgate.Op, r *headgate.Result, sent, heard time.Time, version uint64) {
	d := &r.Decision
	if !s.repeats(op) || r.Err != nil || d.Allowed || d.RetryAfter == headgate.Never || d.Promise != (headgate.Promise{}) {
		return
	}
	kept := keep(op.Charges[0].Limit, d, sent, heard, s.maxStale)
	if !heard.Before(kept.until) {
		return
	}
	name := idOf(op, 0)
	h := s.shard(name.key)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.version != version {
		return
	}
	if _, ok := h.known[name]; !ok {
		if len(h.known) >= s.room && !h.makeRoom(heard) {
			return
		}
		name.space, name.key = strings.Clone(name.space), strings.Clone(name.key)
	}
	h.known[name] = kept
}

// looks is how many refusals are looked at to find some that are over.
const looks = 8

// makeRoom drops some that are over. A map is read from a place at random.
func (h *shard) makeRoom(now time.Time) (made bool) {
	left := looks
	for name, known := range h.known {
		if !now.Before(known.until) {
			delete(h.known, name)
			made = true
		}
		if left--; left == 0 {
			break
		}
	}
	return made
}
