package memstore

import (
	"slices"

	"github.com/headgate/headgate/engine/algo"
)

// expiring lists the states of a shard that expire first, so that dropping a state does not require a scan of all
// states. An entry can be outdated: its state may now last longer, or may have been dropped.
type expiring struct {
	list []expiry // at most mostSoon entries, in order of expiry
	// horizon is an instant before which no state outside the list expires.
	horizon int64
}

type expiry struct {
	index int32
	at    int64
}

const mostSoon = 16

// grace is how long an expired state is kept while less than a quarter of the store is in use, in µs. Most users are full
// again when they come back, and to store a key anew takes several times as long as to find it.
const grace = 60_000_000

// outdated returns the instant up to which states must have expired to be dropped although there is room.
func (s *Store) outdated(now int64) int64 {
	if s.room.used.Load() < s.room.most/4 {
		return now - grace
	}
	return now
}

// reset empties the list. No state expires before the horizon.
func (o *expiring) reset(horizon int64) { o.list, o.horizon = o.list[:0], horizon }

// first returns a lower bound on the next expiry.
func (o *expiring) first() int64 {
	if len(o.list) > 0 {
		return min(o.list[0].at, o.horizon)
	}
	return o.horizon
}

// note records that the state at the given index expires at the given instant.
func (o *expiring) note(index int, at int64) {
	if at >= o.horizon {
		return
	}
	o.list = slices.DeleteFunc(o.list, func(e expiry) bool { return int(e.index) == index })
	n, _ := slices.BinarySearchFunc(o.list, at, func(e expiry, at int64) int {
		if e.at <= at {
			return -1
		}
		return 1
	})
	o.list = slices.Insert(o.list, n, expiry{index: int32(index), at: at})
	if len(o.list) > mostSoon {
		o.horizon = o.list[mostSoon].at
		o.list = o.list[:mostSoon]
	}
}

// note calls expiring.note, and publishes the result for readers without the lock.
func (h *shard) note(index int, at int64) {
	if at < h.expiring.horizon {
		h.expiring.note(index, at)
		h.publish()
	}
}

func (h *shard) publish() {
	first := int64(never)
	if h.table.used > 0 {
		first = h.expiring.first()
	}
	if h.soonest.Load() != first {
		h.soonest.Store(first)
	}
}

// scan visits every state, drops those that expired up to the instant before, and lists those that expire next.
func (h *shard) scan(cs *scopes, t algo.Instant, before int64) (dropped int64) {
	h.expiring.reset(never)
	for i := range h.table.marks {
		if h.table.marks[i] < full {
			continue
		}
		at := h.expires(cs, i, t)
		if at <= before {
			h.remove(cs, i)
			dropped++
		} else {
			h.expiring.note(i, at)
		}
	}
	h.publish()
	return dropped
}

// next returns the index of the state that expires first, and its expiry. The index is nowhere if there is no state. On
// the way, next corrects stale entries, and may scan the shard and drop the states that expired up to the instant before:
// dropped is their number.
func (h *shard) next(cs *scopes, t algo.Instant, before int64) (index int, at int64, dropped int64) {
	for h.table.used > 0 {
		if len(h.expiring.list) == 0 {
			dropped += h.scan(cs, t, before)
			continue
		}
		e := h.expiring.list[0]
		there := h.table.marks[e.index] >= full
		if there {
			if at = h.expires(cs, int(e.index), t); at == e.at {
				return int(e.index), at, dropped
			}
		}
		h.expiring.list = slices.Delete(h.expiring.list, 0, 1)
		if there {
			h.expiring.note(int(e.index), at)
		}
		h.publish()
	}
	h.publish()
	return nowhere, never, dropped
}

// expire drops states that expired up to the instant before, up to the given budget, and returns their number. If it has to
// scan all states, it drops all of these.
func (h *shard) expire(cs *scopes, t algo.Instant, before int64, budget int) (dropped int64) {
	for ; budget > 0 && h.soonest.Load() <= before; budget-- {
		index, at, more := h.next(cs, t, before)
		dropped += more
		if index == nowhere || at > before {
			break
		}
		h.remove(cs, index)
		dropped++
	}
	if dropped > 0 {
		h.publish()
	}
	return dropped
}
