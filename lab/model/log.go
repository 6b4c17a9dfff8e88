package model

import (
	"slices"
)

// SlidingLog is the name of the algorithm.
const SlidingLog = "sliding-log"

var _ = register(algorithm{
	names:  []string{SlidingLog},
	check:  func(l Limit) error { return l.checkWindows(MaxLogUnits) },
	absent: func(l Limit, now int64) view { return newLog(l, now) },
})

// log is the state of a sliding log (section 6): entries in order of time.
type log struct {
	limit   Limit
	now     int64
	behind  int64 // by how much now is later than the time of the call (rule 8)
	entries []entry
	// span is the longest window that has charged the log since it was last empty. No entry counts for
	// longer (rule 10).
	span int64
}

type entry struct{ at, cost int64 }

func newLog(l Limit, now int64) *log { return &log{limit: l, now: now} }

func (g *log) newest() (at int64, ok bool) {
	if n := len(g.entries); n > 0 {
		return g.entries[n-1].at, true
	}
	return 0, false
}

func (g *log) at(l Limit, now int64) view {
	v := newLog(l, now)
	newest, ok := g.newest()
	if !ok || newest <= now-g.span {
		return v
	}
	v.entries, v.span = slices.Clone(g.entries), g.span
	switch behind := newest - now; {
	case behind > max(g.span, l.longest()):
		for i := range v.entries {
			v.entries[i].at = min(v.entries[i].at, now)
		}
	case behind > 0:
		v.now, v.behind = newest, behind
	}
	return v
}

func (g *log) moved(l Limit, now int64) (view, bool) {
	newest, ok := g.newest()
	if !ok || newest-now <= max(g.span, l.longest()) {
		return g, false
	}
	return g.at(l, now), true
}

func (g *log) gone() bool { return len(g.live(g.span)) == 0 }

// live returns the entries that count in a window, which are later than now − P.
func (g *log) live(us int64) []entry {
	us = min(us, g.span)
	for i, e := range g.entries {
		if e.at > g.now-us {
			return g.entries[i:]
		}
	}
	return nil
}

func units(entries []entry) (n int64) {
	for _, e := range entries {
		n += e.cost
	}
	return n
}

func (g *log) remaining(w Window) int64 { return max(0, w.Limit-units(g.live(w.WindowUS))) }

func (g *log) admits(c int64) bool { return c <= g.most() }

func (g *log) rows(c int64) (rows []row) {
	for _, w := range g.limit.windows() {
		r := row{limit: w.Limit, remaining: g.remaining(w), reset: g.reset(), wait: g.wait(w, c)}
		rows = append(rows, r.later(g.behind))
	}
	return rows
}

// reset returns the time until the newest entry leaves the longest window. It is the same for all windows, as the
// vectors require. In a sliding window, by contrast, each window has its own reset.
func (g *log) reset() int64 {
	longest := min(g.limit.longest(), g.span)
	live := g.live(longest)
	if len(live) == 0 {
		return 0
	}
	return live[len(live)-1].at + longest - g.now
}

// wait returns the time until c units fit, if entries expire oldest first.
func (g *log) wait(w Window, c int64) int64 {
	if c > w.Limit {
		return never
	}
	if c == 0 {
		return 0
	}
	live := g.live(w.WindowUS)
	used, us := units(live), int64(0)
	for i := 0; used+c > w.Limit; i++ {
		used -= live[i].cost
		us = live[i].at + min(w.WindowUS, g.span) - g.now
	}
	return us
}

func (g *log) most() int64 {
	n := int64(never)
	for _, w := range g.limit.windows() {
		n = min(n, g.remaining(w))
	}
	return n
}

func (g *log) delay(int64) int64 { return 0 }

// spend adds the units. A log holds at most 100 000 units. The oldest are dropped first.
func (g *log) spend(c int64) {
	g.entries = append(g.live(g.span), entry{g.now, c})
	g.span = max(g.span, g.limit.longest())
	g.entries = dropOldest(g.entries, units(g.entries)-MaxLogUnits)
}

// deny adds c units now and keeps the newest L units (rule 4). If there are several windows, L is the largest limit. If
// more units counted before, that many are kept instead.
func (g *log) deny(c, _ int64) {
	most := max(g.limit.largest(), units(g.live(g.span)))
	g.spend(c)
	g.entries = dropOldest(g.entries, units(g.entries)-most)
}

// give removes the oldest units that count in the call's own windows. Other units stay, because only a charge deletes
// them.
func (g *log) give(n int64) {
	live := g.live(g.limit.longest())
	stale := g.entries[:len(g.entries)-len(live)]
	g.entries = append(slices.Clone(stale), dropOldest(live, n)...)
}

func dropOldest(entries []entry, n int64) []entry {
	for n > 0 && len(entries) > 0 {
		back := min(n, entries[0].cost)
		n -= back
		entries[0].cost -= back
		if entries[0].cost == 0 {
			entries = entries[1:]
		}
	}
	return entries
}
