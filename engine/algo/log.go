package algo

// slidingLog records each unit with its time.
var slidingLog = algorithm{
	name:   "sliding-log",
	code:   "sl",
	fields: []string{"windows", "count_denied", "name"},
	properties: properties{
		keepsTimes: true, // its answers are exact, but it needs memory for each unit
	},
	prefetchable: []string{"windows", "name"}, // they are entered at the end of their life
	on:           func(s *State) arithmetic { return &s.log },
	shares:       windowShares,
	penalize:     func(s *State, l *Limit, t Instant, cost, _ int64) { s.log.penalize(l, t, cost) },
	unshare: func(s *State) {
		s.log.Log = &Log{history: s.log.clone(), Span: s.log.Span, Ahead: s.log.Ahead}
	},
	mostCharged: (*Limit).largest,
	spare:       func(s *State, l *Limit, t Instant) int64 { return s.log.spare(l, t) },
}

// logs holds the log of a state. The pointer is nil in a state without a log.
type logs struct{ *Log }

func (s *logs) rewind(_ *Limit, t Instant) { s.Log = s.rewound(t) }
func (s *logs) settle(_ *Limit, t Instant) { s.Log = s.settled(t) }
func (s *logs) wait(l *Limit, t Instant, cost int64) (wait int64, window int) {
	return l.longestWait(func(w Window) int64 { return s.waitIn(t, w, cost) })
}

func (s *logs) room(l *Limit, t Instant) int64 {
	return l.leastRoom(func(w Window) int64 { return s.roomIn(t, w) })
}

func (s *logs) spare(l *Limit, t Instant) int64 {
	return l.leastRoom(func(w Window) int64 { return s.roomIn(t, l.overdrawn(w)) })
}

func (s *logs) report(l *Limit, t Instant, o *Outcome) {
	reset := s.reset(t, l.Longest())
	l.reportWindows(o, func(w Window) (left, _ int64) { return s.roomIn(t, w), reset })
}

func (s *logs) ttl(l *Limit, t Instant) int64 { return s.reset(t, s.Span) }

func (s *logs) append(to []byte) []byte { return s.history.append(integers(to, s.Span, s.Ahead)) }

func (s *logs) decode(d *decoder) {
	s.Log = &Log{Span: d.natural(), Ahead: d.natural(), history: d.history()}
}

// Log is the state of a sliding log: the units spent at each microsecond. An entry counts while its time is after now −
// Span. Entries of the same microsecond are stored as one item with their sum. This loses nothing, because they also
// expire together.
type Log struct {
	history
	// Span is the longest window that has charged units since the log was last empty. No entry is counted for
	// longer than Span (rule 10).
	Span int64
	// Ahead is how far in the future entries may be. Prefetched units are entered with the time when their life ends,
	// so that every span counts all units that can be spent in it.
	Ahead int64
}

// MaxLogUnits is the largest number of units in a log. Beyond it, the oldest units are dropped first.
const MaxLogUnits = 100_000

// behind returns how far the clock is behind the last charge (rule 8). far is set if that is more than the longest
// window.
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

// rewound returns a copy of the log for use after the clock was set back a long way. Entries later than now + g.Ahead
// are moved to that instant. No entry may be farther in the future than g.Ahead, the longest life of prefetched units.
func (g *Log) rewound(t Instant) *Log {
	c := &Log{history: g.clone(), Span: g.Span, Ahead: g.Ahead}
	c.clamp(t.Now + g.Ahead)
	return c
}

// settled returns the log, or a new one if all entries have expired.
func (g *Log) settled(t Instant) *Log {
	if g != nil {
		if newest, ok := g.last(); ok && newest > t.Now-g.Span {
			return g
		}
	}
	return new(Log)
}

// oldest returns the first instant of a span that ends now.
func (g *Log) oldest(t Instant, span int64) int64 { return t.Now - min(span, g.Span) + 1 }

func (g *Log) waitIn(t Instant, w Window, cost int64) int64 {
	if cost > w.Limit {
		return Never
	}
	place, ok := g.newestBeyond(w.Limit - cost)
	if !ok {
		return 0
	}
	return max(0, place+min(w.Span, g.Span)-t.Now)
}

func (g *Log) roomIn(t Instant, w Window) int64 {
	return max(0, w.Limit-g.since(g.oldest(t, w.Span)))
}

// charge deletes expired entries and adds an entry for the units. The entry's instant is now plus ahead µs, or the
// instant of the newest entry if that is later. charge returns the time, in µs, from now to the entry's instant.
func (g *Log) charge(l *Limit, t Instant, cost, ahead int64) (after int64) {
	g.drop(g.oldest(t, g.Span))
	g.Span = max(g.Span, l.Longest())
	place, live := t.Now+ahead, g.live()
	if len(live) == 0 || live[len(live)-1].at <= t.Now {
		g.Ahead = 0 // the clock has passed the future entries
	} else {
		place = max(place, live[len(live)-1].at)
	}
	g.Ahead = max(g.Ahead, ahead)
	g.add(place, cost)
	g.keepNewest(MaxLogUnits)
	return place - t.Now
}

// give removes the oldest units in the limit's own windows or, by handle, the units of one instant.
func (g *Log) give(l *Limit, t Instant, n int64, charge *Held) {
	if charge != nil {
		g.giveAt(g.oldest(t, g.Span), charge.At, n)
		return
	}
	g.giveFrom(g.oldest(t, l.Longest()), n)
}

// penalize records a denied cost, and then drops the oldest units. It keeps as many units as the limit's largest
// count, because all waits depend only on these, or as many as the log held before if that is more.
func (g *Log) penalize(l *Limit, t Instant, cost int64) {
	had := g.since(g.oldest(t, g.Span))
	g.charge(l, t, cost, 0)
	g.keepNewest(max(l.largest(), had))
}

// reset returns the time until all units have left all windows. Each of a limit's windows uses the longest span,
// because they share one log.
func (g *Log) reset(t Instant, span int64) int64 {
	newest, ok := g.last()
	if !ok {
		return 0
	}
	return max(0, newest+min(span, g.Span)-t.Now)
}
