package model

import "maps"

// holding holds the permits of a concurrency limit that is in a request with other limits. A reservation holds its
// units until it is settled. The lease time is the limit's window.
type holding struct {
	leases
	limit  Limit
	now    int64
	latest int64  // when the last permit was granted
	id     string // the reservation that is charged or gives units back
}

func newHolding(l Limit, now int64) *holding { return &holding{leases: leases{}, limit: l, now: now} }

func (h *holding) at(l Limit, now int64) view {
	v := h.corrected(now)
	v.limit, v.now = l, now
	for id, e := range v.leases {
		if e.expires <= now {
			delete(v.leases, id)
		}
	}
	return v
}

// corrected returns a copy for a clock that was set back: no permit lasts longer than its own length.
func (h *holding) corrected(now int64) *holding {
	v := *h
	v.leases = maps.Clone(h.leases)
	if now < h.latest {
		v.latest = now
		for id, e := range v.leases {
			e.expires = min(e.expires, now+e.length)
			v.leases[id] = e
		}
	}
	return &v
}

func (h *holding) moved(_ Limit, now int64) (view, bool) {
	return h.corrected(now), now < h.latest && len(h.leases) > 0
}

func (h *holding) gone() bool { return len(h.leases) == 0 }

func (h *holding) rows(c int64) []row {
	r := row{limit: leases{}.most(h.limit), remaining: h.most()}
	if !h.admits(c) {
		r.wait = h.leases.wait(h.limit, c, 0, h.now)
	}
	for _, e := range h.leases {
		r.reset = max(r.reset, e.expires-h.now)
	}
	return []row{r}
}

func (h *holding) admits(c int64) bool { return c == 0 || h.leases.admits(h.limit, c, 0) }
func (h *holding) most() int64         { return h.leases.most(h.limit) }
func (h *holding) delay(int64) int64   { return 0 }
func (h *holding) deny(_, _ int64)     {}
func (h *holding) give(int64)          {}
func (h *holding) place() int64        { return h.now }

func (h *holding) spend(c int64) {
	h.leases[h.limit.holder(h.id)] = lease{c, h.limit.WindowUS, h.now + h.limit.WindowUS}
	h.latest = h.now
}

// giveBack releases the permit, regardless of the units used.
func (h *holding) giveBack(_ int64, of held, r returns) returns {
	delete(h.leases, h.limit.holder(of.id))
	return r
}
