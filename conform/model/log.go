package model

import "slices"

// log is a sliding log (section 6): entries by time, the oldest first.
type log struct {
	limit   Limit
	now     int64
	entries []entry
}

type entry struct{ at, cost int64 }

func newLog(l Limit, now int64) *log { return &log{limit: l, now: now} }

func (g *log) at(l Limit, now int64) (view, bool) {
	v := newLog(l, now)
	span := g.limit.longest()
	// Rule 10 keeps what still counts. What no longer did, under the numbers it
	// was written with, equals absence (rule 9) and does not come back.
	resized := span != l.longest()
	corrected := resized
	for _, e := range g.entries {
		if e.at > now { // rule 8
			e.at, corrected = now, true
		}
		if !resized || e.at > now-span {
			v.entries = append(v.entries, e)
		}
	}
	return v, corrected
}

// live lists the entries that a window counts: later than now − P.
func (g *log) live(us int64) []entry {
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
		rows = append(rows, row{limit: w.Limit, remaining: g.remaining(w), reset: g.reset(), wait: g.wait(w, c)})
	}
	return rows
}

// reset is the same for all windows: when the newest entry leaves the longest.
// The vectors decide; a sliding window's reset is each window's own.
func (g *log) reset() int64 {
	longest := g.limit.longest()
	live := g.live(longest)
	if len(live) == 0 {
		return 0
	}
	return live[len(live)-1].at + longest - g.now
}

// wait lets entries expire, the oldest first, until c fits.
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
		us = live[i].at + w.WindowUS - g.now
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

func (g *log) spend(c int64) {
	g.entries = append(g.live(g.limit.longest()), entry{g.now, c})
}

// deny adds c units now and keeps the newest L units (rule 4), for several
// windows the largest L.
func (g *log) deny(c int64) {
	g.spend(c)
	g.entries = dropOldest(g.entries, units(g.entries)-g.limit.largest())
}

// give removes the oldest units that the longest window counts. Stale entries
// stay: only a charge deletes them.
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
