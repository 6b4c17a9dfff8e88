package algo

import "math/bits"

// Segments is the state of a sliding window: what was spent in each segment,
// and the numbers it was written under.
type Segments struct {
	history
	Segment int64 // length in µs
	K       int64 // segments of the longest window
	Variant Variant
}

// view is what one decision reads of a window: the segment that now lies in and
// how far into it.
type view struct{ current, into int64 }

func (l *Limit) view(t Instant) view {
	current := floorDiv(t.Now, l.Segment)
	return view{current: current, into: t.Now - current*l.Segment}
}

// reach is how many segments before the current one count: the lenient variant
// ignores the oldest, partly expired one.
func reach(v Variant, k int64) int64 {
	if v == Lenient {
		return k - 1
	}
	return k
}

// settle leaves the segments as they are, but for the two cases in which the
// law moves units: set in another's numbers, all that still counts goes to the
// current segment (rule 10); after the clock was set back, later segments join
// the current one (rule 8). Both work on a copy.
func (s *Segments) settle(l *Limit, t Instant) (settled *Segments, corrected bool) {
	k := l.Longest() / l.Segment
	current := floorDiv(t.Now, l.Segment)
	if s == nil || len(s.live()) == 0 {
		return &Segments{Segment: l.Segment, K: k, Variant: l.Variant}, false
	}
	if s.Segment == l.Segment && s.K == k && s.Variant == l.Variant {
		if newest, _ := s.last(); newest <= current {
			return s, false
		}
		copied := *s
		copied.history = s.clone()
		copied.pull(current)
		return &copied, true
	}
	counted := s.since(floorDiv(t.Now, s.Segment) - reach(s.Variant, s.K))
	moved := &Segments{Segment: l.Segment, K: k, Variant: l.Variant}
	if counted > 0 {
		moved.add(current, counted)
	}
	return moved, true
}

func (s *Segments) wait(l *Limit, t Instant, w Window, cost int64) int64 {
	if cost > w.Limit {
		return Never
	}
	v, k := l.view(t), w.Span/l.Segment
	free := w.Limit - cost
	at := v.current // the first segment in which cost can pass
	if oldest, ok := s.newestBeyond(free); ok {
		at = max(at, oldest+reach(s.Variant, k)+1)
		if s.Variant == Weighted {
			// It need not be gone: it may be the oldest, partly expired one.
			at = max(v.current, oldest+k)
		}
	}
	passes := at * l.Segment
	if s.Variant == Weighted {
		passes += s.weightedInstant(l, at-k, free-s.since(at-k+1))
	}
	return max(0, passes-t.Now)
}

// weightedInstant returns how far into a segment the weighted share of the old
// one fits what is free: the first e with old·(s−e) ≤ free·s.
func (s *Segments) weightedInstant(l *Limit, oldAt, free int64) int64 {
	old := s.at(oldAt)
	if old <= free {
		return 0
	}
	fits, _ := product(free, l.Segment).over(old)
	return l.Segment - fits
}

func (s *Segments) room(l *Limit, t Instant, w Window) int64 {
	v, k := l.view(t), w.Span/l.Segment
	spent := s.since(v.current - reach(s.Variant, k))
	if s.Variant == Weighted {
		old := s.at(v.current - k)
		spent -= expired(old, v.into, l.Segment)
	}
	return max(0, w.Limit-spent)
}

// expired returns ⌊old·e/s⌋: the units of the oldest segment that no longer
// count, rounded so that remaining counts round down.
func expired(old, into, segment int64) int64 {
	hi, lo := bits.Mul64(uint64(old), uint64(into))
	units, _ := uint128{hi, lo}.over(segment)
	return units
}

func (s *Segments) oldest(l *Limit, t Instant) int64 {
	return l.view(t).current - reach(s.Variant, s.K)
}

func (s *Segments) charge(l *Limit, t Instant, cost int64) {
	s.drop(s.oldest(l, t))
	s.add(l.view(t).current, cost)
}

func (s *Segments) give(l *Limit, t Instant, n, taken int64) {
	place := floorDiv(taken, l.Segment)
	s.giveFrom(s.oldest(l, t), n, place, taken != 0)
}

func (s *Segments) reset(l *Limit, t Instant, w Window) int64 {
	newest, ok := s.last()
	if !ok {
		return 0
	}
	return max(0, (newest+reach(s.Variant, w.Span/l.Segment)+1)*l.Segment-t.Now)
}
