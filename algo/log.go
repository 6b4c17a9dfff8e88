package algo

// Log is the state of a sliding log: what was spent at each microsecond. An
// entry counts while its time is after now − Span. Entries of one microsecond
// share an item with their sum; nothing is lost by that, because they also
// leave together.
type Log struct {
	history
	Span int64 // longest window it was written under
	// Ahead is how far after the clock entries may lie: those of units that are
	// taken in advance, and are entered at the end of the time in which they can
	// be spent. So every span counts what can be spent in it.
	Ahead int64
}

// settle leaves the log as it is unless entries lie too far in the future (rule 8) or
// the longest window changed (rule 10: what no longer counted stays forgotten).
// Both work on a copy.
func (g *Log) settle(l *Limit, t Instant) (settled *Log, corrected bool) {
	span := l.Longest()
	if g == nil || len(g.live()) == 0 {
		return &Log{Span: span}, false
	}
	newest, _ := g.last()
	latest := t.Now + g.Ahead
	if newest <= latest && g.Span == span {
		return g, false
	}
	copied := &Log{history: g.clone(), Span: span, Ahead: g.Ahead}
	copied.pull(latest)
	if g.Span != span {
		copied.drop(t.Now - g.Span + 1)
	}
	return copied, true
}

func (g *Log) wait(t Instant, w Window, cost int64) int64 {
	if cost > w.Limit {
		return Never
	}
	oldest, ok := g.newestBeyond(w.Limit - cost)
	if !ok {
		return 0
	}
	return max(0, oldest+w.Span-t.Now)
}

func (g *Log) room(t Instant, w Window) int64 {
	return max(0, w.Limit-g.since(t.Now-w.Span+1))
}

// charge enters the units so long after now, and no earlier than the newest.
func (g *Log) charge(t Instant, cost, ahead int64) {
	g.drop(t.Now - g.Span + 1)
	place, newest := t.Now+ahead, int64(0)
	if live := g.live(); len(live) > 0 {
		newest = live[len(live)-1].at
	}
	if newest <= t.Now {
		g.Ahead = 0 // what lay ahead lies behind
	}
	g.Ahead = max(g.Ahead, ahead)
	g.add(max(place, newest), cost)
}

func (g *Log) give(t Instant, n, taken int64) { g.giveFrom(t.Now-g.Span+1, n, taken, taken != 0) }

// penalize enters a refused cost; the log keeps the newest units that its
// largest window can hold, which is all that any wait depends on.
func (g *Log) penalize(t Instant, most, cost int64) {
	g.charge(t, cost, 0)
	g.keepNewest(most)
}

// reset returns the time until the log is empty: for every window that of the
// longest, because one log serves them all.
func (g *Log) reset(t Instant) int64 {
	newest, ok := g.last()
	if !ok {
		return 0
	}
	return max(0, newest+g.Span-t.Now)
}
