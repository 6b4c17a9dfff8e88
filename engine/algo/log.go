package algo

// Log is the state of a sliding log: what was spent at each microsecond. An
// entry counts while its time is after now − Span. Entries of one microsecond
// share an item with their sum; nothing is lost by that, because they also
// leave together.
type Log struct {
	history
	// Span is the longest window under which units were charged since the log was
	// last empty. No entry counts for longer (rule 10).
	Span int64
	// Ahead is how far after the clock entries may lie: those of units that are
	// taken in advance, and are entered at the end of the time in which they can
	// be spent. So every span counts what can be spent in it.
	Ahead int64
}

// MaxLogUnits is how many units a log holds at most. Of more, the oldest go first.
const MaxLogUnits = 100_000

// behind returns how far the clock is behind the last charge (rule 8); far is set
// where that is more than the longest window.
func (g *Log) behind(l *Limit, t Instant) (us int64, far bool) {
	if g == nil {
		return 0, false
	}
	newest, ok := g.last()
	if !ok {
		return 0, false
	}
	us = max(0, newest-g.Ahead-t.Now)
	return us, us > max(g.Span, l.Longest())
}

// pulled returns the log after a clock that was set back far: no entry lies
// farther ahead than units can be taken in advance.
func (g *Log) pulled(t Instant) *Log {
	c := &Log{history: g.clone(), Span: g.Span, Ahead: g.Ahead}
	c.pull(t.Now + g.Ahead)
	return c
}

// settle returns the log, or a new one where no entry counts any more.
func (g *Log) settle(t Instant) *Log {
	if g != nil {
		if newest, ok := g.last(); ok && newest > t.Now-g.Span {
			return g
		}
	}
	return new(Log)
}

// oldest returns the first instant whose entries a span counts.
func (g *Log) oldest(t Instant, span int64) int64 { return t.Now - min(span, g.Span) + 1 }

func (g *Log) wait(t Instant, w Window, cost int64) int64 {
	if cost > w.Limit {
		return Never
	}
	place, ok := g.newestBeyond(w.Limit - cost)
	if !ok {
		return 0
	}
	return max(0, place+min(w.Span, g.Span)-t.Now)
}

func (g *Log) room(t Instant, w Window) int64 {
	return max(0, w.Limit-g.since(g.oldest(t, w.Span)))
}

// charge deletes what counts no more and enters the units so long after now, and
// no earlier than the newest. It returns how long after now that is.
func (g *Log) charge(l *Limit, t Instant, cost, ahead int64) (after int64) {
	g.drop(g.oldest(t, g.Span))
	g.Span = max(g.Span, l.Longest())
	place, live := t.Now+ahead, g.live()
	if len(live) == 0 || live[len(live)-1].at <= t.Now {
		g.Ahead = 0 // what lay ahead lies behind
	} else {
		place = max(place, live[len(live)-1].at)
	}
	g.Ahead = max(g.Ahead, ahead)
	g.add(place, cost)
	g.keepNewest(MaxLogUnits)
	return place - t.Now
}

// give takes the oldest units first that the limit's own windows count, or, by
// handle, those of one instant.
func (g *Log) give(l *Limit, t Instant, n, taken int64) {
	if taken != 0 {
		g.giveAt(g.oldest(t, g.Span), taken, n)
		return
	}
	g.giveFrom(g.oldest(t, l.Longest()), n)
}

// penalize enters a refused cost. The log keeps the newest units that its largest
// window can hold, which is all that any wait depends on, or as many as it had.
func (g *Log) penalize(l *Limit, t Instant, most, cost int64) {
	had := g.since(g.oldest(t, g.Span))
	g.charge(l, t, cost, 0)
	g.keepNewest(max(most, had))
}

// reset returns the time until no window counts anything: for each of a limit's
// windows that of the longest, because one log serves them all.
func (g *Log) reset(t Instant, span int64) int64 {
	newest, ok := g.last()
	if !ok {
		return 0
	}
	return max(0, newest+min(span, g.Span)-t.Now)
}
