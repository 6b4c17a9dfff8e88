package algo

import (
	"slices"
	"sort"
)

// history is the units spent, oldest first: the counts of a sliding window's
// segments, or the entries of a log. Each item carries the running total up to
// and including itself, so that any span's sum is two look-ups, and dropping
// the oldest items or units changes no other item.
type history struct {
	// items[head:] are in use. Dropping moves head; the space is taken back
	// when half of it is unused, so that a call moves O(dropped) items.
	items []item
	head  int
	// gone is the running total of what was dropped.
	gone int64
}

type item struct {
	at    int64 // segment index, or µs
	total int64
}

// rebaseAt is the running total beyond which totals start again from 0: long
// before they would wrap.
const rebaseAt = 1 << 62

func (h *history) clone() history {
	return history{items: slices.Clone(h.live()), gone: h.gone}
}

func (h *history) live() []item { return h.items[h.head:] }

// from returns the index of the first live item at or after the place.
func (h *history) from(at int64) int {
	live := h.live()
	return sort.Search(len(live), func(i int) bool { return live[i].at >= at })
}

// before returns the running total of what lies before live item i.
func (h *history) before(i int) int64 {
	if i == 0 {
		return h.gone
	}
	return max(h.gone, h.live()[i-1].total)
}

func (h *history) total() int64 { return h.before(len(h.live())) }

// since returns the units at or after the place.
func (h *history) since(at int64) int64 {
	return h.total() - h.before(h.from(at))
}

// at returns the units exactly there.
func (h *history) at(at int64) int64 {
	i, live := h.from(at), h.live()
	if i == len(live) || live[i].at != at {
		return 0
	}
	return h.before(i+1) - h.before(i)
}

// last returns the newest place; ok is false where nothing counts.
func (h *history) last() (at int64, ok bool) {
	live := h.live()
	if n := len(live); n > 0 && live[n-1].total > h.gone {
		return live[n-1].at, true
	}
	return 0, false
}

// newestBeyond returns the place of the newest item that has to leave before at
// most keep units are left; ok is false where none has to.
func (h *history) newestBeyond(keep int64) (at int64, ok bool) {
	limit := h.total() - keep
	if limit <= h.gone {
		return 0, false
	}
	live := h.live()
	return live[sort.Search(len(live), func(i int) bool { return live[i].total >= limit })].at, true
}

// add puts n units at the newest place. A place before the newest item cannot
// come up: settling first moves to now what lies in the future.
func (h *history) add(at, n int64) {
	total := h.total() + n
	if last := len(h.items) - 1; last >= h.head && h.items[last].at == at {
		h.items[last].total = total
		return
	}
	h.items = append(h.items, item{at: at, total: total})
}

// drop forgets all that lies before the place.
func (h *history) drop(at int64) {
	i := h.from(at)
	h.gone = h.before(i)
	h.head += i
	if h.head*2 > len(h.items) {
		h.items = slices.Delete(h.items, 0, h.head)
		h.head = 0
	}
	if h.gone > rebaseAt {
		for i := range h.live() {
			h.live()[i].total -= h.gone
		}
		h.gone = 0
	}
}

// giveFrom takes n units from the oldest end, starting at the place. What lies
// before stays: only a charge deletes it.
func (h *history) giveFrom(at, n int64) {
	i := h.from(at)
	base, counted := h.before(i), h.live()[i:]
	h.items = h.items[:h.head+i]
	for _, it := range counted {
		if it.total -= n; it.total > base {
			h.items = append(h.items, it)
		}
	}
}

// giveAt takes n units from one place, unless that is older than the oldest that
// counts.
func (h *history) giveAt(oldest, place, n int64) {
	if place >= oldest {
		h.giveFrom(place, min(n, h.at(place)))
	}
}

// keepNewest takes units from the oldest end until at most n are left.
func (h *history) keepNewest(n int64) {
	h.gone = max(h.gone, h.total()-n)
}

// pull moves all that lies after the place to it.
func (h *history) pull(at int64) {
	i := h.from(at + 1)
	if i == len(h.live()) {
		return
	}
	moved := h.total() - h.before(i)
	h.items = h.items[:h.head+i]
	h.add(at, moved)
}
