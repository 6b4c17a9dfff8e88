package algo

import "math/bits"

// slidingWindow counts the units of the last period, in segments.
var slidingWindow = algorithm{
	name:   "sliding-window",
	code:   "sw",
	fields: []string{"segments", "segment", "variant", "windows", "count_denied", "name"},
	// Units leave the window only with time, and the units of a segment are interchangeable.
	prefetchable: []string{"segments", "segment", "variant", "windows", "name"},
	on:           func(s *State) arithmetic { return &s.segments },
	shares:       windowShares,
	// Counts cannot be moved to segments of another length, so the length is part of the counter's name.
	grid: func(l *Limit) Grid { return Grid{Period: l.Segment} },
	penalize: func(s *State, l *Limit, t Instant, cost, _ int64) {
		s.segments.penalize(l, t, cost)
	},
	unshare:     func(s *State) { s.segments.unshare() },
	spare:       func(s *State, l *Limit, t Instant) int64 { return s.segments.spare(l, t) },
	mostCharged: (*Limit).largest,
	windowLeft:  (*Limit).segmentLeft,
}

// slides holds the segments of a state. The pointer is nil in a state without segments.
type slides struct{ *Segments }

func (s *slides) rewind(l *Limit, t Instant) { s.Segments = s.rewound(l, t) }
func (s *slides) settle(l *Limit, t Instant) { s.Segments = s.settled(l, t) }
func (s *slides) wait(l *Limit, t Instant, cost int64) (wait int64, window int) {
	return l.longestWait(func(w Window) int64 { return s.waitIn(l, t, w, cost) })
}

func (s *slides) room(l *Limit, t Instant) int64 {
	return l.leastRoom(func(w Window) int64 { return s.roomIn(l, t, w) })
}

func (s *slides) spare(l *Limit, t Instant) int64 {
	return l.leastRoom(func(w Window) int64 { return s.roomIn(l, t, l.overdrawn(w)) })
}

func (s *slides) report(l *Limit, t Instant, o *Outcome) {
	l.reportWindows(o, func(w Window) (left, reset int64) { return s.roomIn(l, t, w), s.reset(l, t, w) })
}

func (s *slides) unshare() {
	c := *s.Segments
	c.history = c.clone()
	s.Segments = &c
}

func (s *slides) append(to []byte) []byte { return s.history.append(integers(to, s.K)) }
func (s *slides) decode(d *decoder)       { s.Segments = &Segments{K: d.natural(), history: d.history()} }

// Segments is the state of a sliding window: the units spent in each segment. The length of a segment is part of the
// counter's name, so that all versions of a limit use the same segments.
type Segments struct {
	history
	// K is the number of segments in the longest window that has charged units since the state was last empty. No unit
	// is counted for longer than K segments (rule 10).
	K int64
}

// maxWindowUnits is the largest number of units in the segments. Beyond it, the oldest units are dropped first. No
// window is affected, because a window's limit is less than a sixteenth of this number. Only versions of the limit
// that have short windows can charge so much within the longest window. Up to this bound, the Redis store's scripts
// count exactly.
const maxWindowUnits = 1 << 52

func (l *Limit) segmentLeft(at, _ int64) int64 { return l.Segment - at%l.Segment }

// view is the current time for a decision: the current segment, and the position in it.
type view struct{ current, into int64 }

func (l *Limit) view(t Instant) view {
	current := floorDiv(t.Now, l.Segment)
	return view{current: current, into: t.Now - current*l.Segment}
}

// reach returns the number of segments before the current one that a window counts, and whether the oldest of them
// counts by weight. The lenient variant ignores the oldest one. A window longer than all windows that have charged
// units counts every remaining unit in full.
func (s *Segments) reach(l *Limit, w Window) (segments int64, weighted bool) {
	k := w.Span / l.Segment
	switch {
	case l.Variant == Lenient:
		return min(k-1, s.K), false
	case l.Variant == Strict || k > s.K:
		return min(k, s.K), false
	default:
		return k, true
	}
}

// behind returns how far the clock is behind the newest segment (rule 8). far is set if that is more than the limit's
// longest window, and more than the longest window that has charged units.
func (s *Segments) behind(l *Limit, t Instant) (us int64, far bool) {
	if s == nil {
		return 0, false
	}
	newest, ok := s.last()
	if !ok {
		return 0, false
	}
	us = max(0, newest*l.Segment-t.Now)
	return us, us > max(s.K*l.Segment, l.Longest())
}

// rewound returns the segments for use after the clock was set back a long way: the units of later segments are moved
// to the current one.
func (s *Segments) rewound(l *Limit, t Instant) *Segments {
	c := &Segments{history: s.clone(), K: s.K}
	c.clamp(floorDiv(t.Now, l.Segment))
	return c
}

// settled returns the segments, or an empty state if all segments have expired.
func (s *Segments) settled(l *Limit, t Instant) *Segments {
	if s != nil {
		if newest, ok := s.last(); ok && newest >= floorDiv(t.Now, l.Segment)-s.K {
			return s
		}
	}
	return new(Segments)
}

func (s *Segments) waitIn(l *Limit, t Instant, w Window, cost int64) int64 {
	if cost > w.Limit {
		return Never
	}
	v, free := l.view(t), w.Limit-cost
	reach, weighted := s.reach(l, w)
	at := v.current // the first segment in which cost can pass
	if oldest, ok := s.newestBeyond(free); ok {
		at = max(at, oldest+reach+1)
		if weighted {
			// The newest segment in the way does not have to leave the window: it may be the oldest, partly expired
			// one.
			at = max(v.current, oldest+reach)
		}
	}
	passes := at * l.Segment
	if weighted {
		passes += s.weightedInstant(l, at-reach, free-s.since(at-reach+1))
	}
	return max(0, passes-t.Now)
}

// weightedInstant returns the earliest offset into a segment, in µs, when the weighted part of the oldest segment fits
// into the free units: the first e with old·(s−e) ≤ free·s.
func (s *Segments) weightedInstant(l *Limit, oldAt, free int64) int64 {
	old := s.at(oldAt)
	if old <= free {
		return 0
	}
	fits, _ := product(free, l.Segment).over(old)
	return l.Segment - fits
}

func (s *Segments) roomIn(l *Limit, t Instant, w Window) int64 {
	v := l.view(t)
	reach, weighted := s.reach(l, w)
	spent := s.since(v.current - reach)
	if weighted {
		spent -= expired(s.at(v.current-reach), v.into, l.Segment)
	}
	return max(0, w.Limit-spent)
}

// expired returns ⌊old·e/s⌋: the units of the oldest segment that have expired, rounded down so that remaining rounds
// down.
func expired(old, into, segment int64) int64 {
	hi, lo := bits.Mul64(uint64(old), uint64(into))
	units, _ := uint128{hi, lo}.over(segment)
	return units
}

// charge deletes expired segments, and adds the cost, which is counted for as long as the limit's longest window.
func (s *Segments) charge(l *Limit, t Instant, cost, _ int64) (after int64) {
	current := l.view(t).current
	s.drop(current - s.K)
	s.K = max(s.K, l.Longest()/l.Segment)
	s.add(current, cost)
	s.keepNewest(maxWindowUnits)
	return 0
}

// penalize counts as much of a denied cost as fits into the window with the most remaining units, because the windows
// share their segments.
func (s *Segments) penalize(l *Limit, t Instant, cost int64) {
	var buf Windows
	most := int64(0)
	for _, w := range l.windows(&buf) {
		most = max(most, s.roomIn(l, t, w))
	}
	if extra := min(cost, most); extra > 0 {
		s.charge(l, t, extra, 0)
	}
}

// give removes the oldest units in the limit's own windows. If there is a handle, it removes units of one segment.
func (s *Segments) give(l *Limit, t Instant, n int64, charge *Held) {
	current := l.view(t).current
	if charge != nil {
		s.giveAt(current-s.K, floorDiv(charge.At, l.Segment), n)
		return
	}
	reach, _ := s.reach(l, Window{Span: l.Longest()})
	s.giveFrom(current-reach, n)
}

// reset returns the time until the newest segment leaves a window.
func (s *Segments) reset(l *Limit, t Instant, w Window) int64 {
	reach, _ := s.reach(l, w)
	return s.until(l, t, reach)
}

// ttl returns the time until all units have expired under every version of the limit.
func (s *Segments) ttl(l *Limit, t Instant) int64 { return s.until(l, t, s.K) }

func (s *Segments) until(l *Limit, t Instant, reach int64) int64 {
	newest, ok := s.last()
	if !ok {
		return 0
	}
	return max(0, (newest+reach+1)*l.Segment-t.Now)
}
