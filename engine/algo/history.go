package algo

import (
	"slices"
	"sort"
)

// history lists the spent units, oldest first: the counts of a sliding window's segments, or the entries of a log.
// Each item contains the running total up to and including itself, so that the sum over any span takes two lookups, and
// dropping the oldest items or units changes no other item.
type history struct {
	// items[head:] are in use. Dropping items only moves head. The unused space is reclaimed when it is half of the
	// slice, so a call moves, on average, only as many items as it drops.
	items []item
	head  int
	// gone is the running total of the dropped units.
	gone int64
}

type item struct {
	at    int64 // segment index, or µs
	total int64
}

// rebaseAt is the running total above which totals restart from 0, long before they would overflow.
const rebaseAt = 1 << 62

func (h *history) clone() history {
	return history{items: slices.Clone(h.live()), gone: h.gone}
}

func (h *history) live() []item { return h.items[h.head:] }

// from returns the index of the first live item whose at is not less than the given one.
func (h *history) from(at int64) int {
	live := h.live()
	return sort.Search(len(live), func(i int) bool { return live[i].at >= at })
}

// before returns the running total of all units before live item i.
func (h *history) before(i int) int64 {
	if i == 0 {
		return h.gone
	}
	return max(h.gone, h.live()[i-1].total)
}

func (h *history) total() int64 { return h.before(len(h.live())) }

// since returns the number of units in live items whose at (a segment index, or µs) is the given one or later.
func (h *history) since(at int64) int64 {
	return h.total() - h.before(h.from(at))
}

// at returns the number of units in the live item whose at is exactly the given one.
func (h *history) at(at int64) int64 {
	i, live := h.from(at), h.live()
	if i == len(live) || live[i].at != at {
		return 0
	}
	return h.before(i+1) - h.before(i)
}

// last returns the place of the newest item. ok is false if there are no units.
func (h *history) last() (at int64, ok bool) {
	live := h.live()
	if n := len(live); n > 0 && live[n-1].total > h.gone {
		return live[n-1].at, true
	}
	return 0, false
}

// newestBeyond returns the place of the newest item that must be dropped so that at most keep units remain. ok is false
// if no item must be dropped.
func (h *history) newestBeyond(keep int64) (at int64, ok bool) {
	limit := h.total() - keep
	if limit <= h.gone {
		return 0, false
	}
	live := h.live()
	return live[sort.Search(len(live), func(i int) bool { return live[i].total >= limit })].at, true
}

// add adds n units at the newest place. A place before the newest item cannot occur, because settling first moves
// items from the future to now.
func (h *history) add(at, n int64) {
	total := h.total() + n
	if last := len(h.items) - 1; last >= h.head && h.items[last].at == at {
		h.items[last].total = total
		return
	}
	h.items = append(h.items, item{at: at, total: total})
}

// drop deletes all items before the given place.
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

// giveFrom removes n units from the oldest items at or after the place. Items before the
// place stay; only a charge deletes them.
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

// giveAt removes n units from one place, unless the place is before oldest.
func (h *history) giveAt(oldest, place, n int64) {
	if place >= oldest {
		h.giveFrom(place, min(n, h.at(place)))
	}
}

// keepNewest removes units from the oldest end until at most n are left.
func (h *history) keepNewest(n int64) {
	h.gone = max(h.gone, h.total()-n)
}

// clamp moves all units after the place to the place.
func (h *history) clamp(at int64) {
	i := h.from(at + 1)
	if i == len(h.live()) {
		return
	}
	moved := h.total() - h.before(i)
	h.items = h.items[:h.head+i]
	h.add(at, moved)
}
