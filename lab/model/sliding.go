package model

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
)

// SlidingWindow is the name of the algorithm.
const SlidingWindow = "sliding-window"

// These are the variants of a sliding window (section 5).
const (
	Weighted = "weighted"
	Strict   = "strict"
	Lenient  = "lenient"
)

var _ = register(algorithm{
	names:  []string{SlidingWindow},
	check:  func(l Limit) error { return errors.Join(l.checkWindows(MaxUnits), l.checkSegments()) },
	absent: func(l Limit, now int64) view { return newSliding(l, now) },
	grid:   func(l Limit) string { return fmt.Sprint(l.segment()) },
})

// SlidingFields are the fields of sliding windows.
type SlidingFields struct {
	Segments  int64  `json:"segments,omitempty"`
	SegmentUS int64  `json:"segment_us,omitempty"`
	Variant   string `json:"variant,omitempty"`
}

// sliding is the state of a sliding window (section 5): counts by segment, aligned to the clock. The segment length
// is part of a counter's name, so all versions of a limit count in the same segments.
type sliding struct {
	limit  Limit
	now    int64
	behind int64 // by how much now is later than the time of the call (rule 8)
	counts map[int64]int64
	// k is the number of segments in the longest window that has charged the state since it was last
	// empty. No unit counts for longer (rule 10).
	k int64
}

func newSliding(l Limit, now int64) *sliding {
	return &sliding{limit: l, now: now, counts: map[int64]int64{}}
}

func (l Limit) longestSegments() int64 { return l.longest() / l.segment() }

// newest returns the newest segment with units.
func (s *sliding) newest() (at int64, ok bool) {
	for i, n := range s.counts {
		if n > 0 && (!ok || i > at) {
			at, ok = i, true
		}
	}
	return at, ok
}

func (s *sliding) at(l Limit, now int64) view {
	v := newSliding(l, now)
	newest, ok := s.newest()
	seg := l.segment()
	if !ok || newest < segmentAt(l, now)-s.k {
		return v
	}
	v.counts, v.k = maps.Clone(s.counts), s.k
	switch behind := newest*seg - now; {
	case behind > max(s.k, l.longestSegments())*seg:
		v.clamp(segmentAt(l, now))
	case behind > 0:
		v.now, v.behind = newest*seg, behind
	}
	return v
}

// clamp moves the units of all segments after a given segment into that segment.
func (s *sliding) clamp(to int64) {
	for i, n := range s.counts {
		if i > to {
			delete(s.counts, i)
			s.counts[to] += n
		}
	}
}

func (s *sliding) moved(l Limit, now int64) (view, bool) {
	newest, ok := s.newest()
	if !ok || newest*l.segment()-now <= max(s.k, l.longestSegments())*l.segment() {
		return s, false
	}
	return s.at(l, now), true
}

func (s *sliding) gone() bool {
	newest, ok := s.newest()
	return !ok || newest < segmentAt(s.limit, s.now)-s.k
}

func segmentAt(l Limit, now int64) int64 {
	s := l.segment()
	return floorTo(now, s) / s
}

func variant(l Limit) string {
	if l.Variant == "" {
		return Strict
	}
	return l.Variant
}

// passes reports whether c units would pass in one window at time t ≥ now, if there are no other requests.
func (s *sliding) passes(w Window, c, t int64) bool {
	seg := s.limit.segment()
	k, cur, e := w.WindowUS/seg, segmentAt(s.limit, t), t-floorTo(t, seg)
	var sum, old int64
	for i, n := range s.counts {
		switch {
		case i < cur-s.k: // no version counts it any more
		case i > cur-k:
			sum += n
		case i == cur-k:
			old = n
		}
	}
	switch variant(s.limit) {
	case Lenient:
		return sum+c <= w.Limit
	case Strict:
		return old+sum+c <= w.Limit
	}
	used := add(mul(num(old), num(seg-e)), mul(num(sum+c), num(seg)))
	return used.Cmp(mul(num(w.Limit), num(seg))) <= 0
}

func (s *sliding) admits(c int64) bool {
	for _, w := range s.limit.windows() {
		if c > w.Limit || !s.passes(w, c, s.now) {
			return false
		}
	}
	return true
}

func (s *sliding) rows(c int64) (rows []row) {
	for _, w := range s.limit.windows() {
		r := row{limit: w.Limit, remaining: s.remaining(w), reset: s.reset(w), wait: s.wait(w, c)}
		rows = append(rows, r.later(s.behind))
	}
	return rows
}

// remaining returns the largest cost that passes now. If a cost passes, every lower cost passes too.
func (s *sliding) remaining(w Window) int64 {
	denied := sort.Search(int(w.Limit), func(i int) bool { return !s.passes(w, int64(i)+1, s.now) })
	return int64(denied)
}

// wait returns the time until c units pass. The count never grows as time passes: a segment's weight falls from 1 to 0
// and stays at 0. The units therefore also pass at every later instant.
func (s *sliding) wait(w Window, c int64) int64 {
	if c > w.Limit {
		return never
	}
	if c == 0 {
		return 0
	}
	return int64(sort.Search(int(s.reset(w)), func(us int) bool { return s.passes(w, c, s.now+int64(us)) }))
}

// reset returns the time until the last non-empty segment stops counting in this window. In a log, by contrast, the
// longest window's reset applies to all windows.
func (s *sliding) reset(w Window) int64 {
	seg := s.limit.segment()
	reach := s.reach(w)
	var us int64
	for i, n := range s.counts {
		if n > 0 {
			us = max(us, (i+reach+1)*seg-s.now)
		}
	}
	return us
}

// reach returns the number of segments before the current one that count in a window, fully or partly.
func (s *sliding) reach(w Window) int64 {
	k := w.WindowUS / s.limit.segment()
	if variant(s.limit) == Lenient {
		k--
	}
	return min(k, s.k)
}

func (s *sliding) most() int64 {
	n := int64(never)
	for _, w := range s.limit.windows() {
		n = min(n, s.remaining(w))
	}
	return n
}

func (s *sliding) delay(int64) int64 { return 0 }

// spend also deletes every segment that no longer counts, which is visible only if the clock is set back. A give does
// not delete any, because only an admitted call does.
func (s *sliding) spend(c int64) {
	cur := segmentAt(s.limit, s.now)
	for i := range s.counts {
		if i < cur-s.k {
			delete(s.counts, i)
		}
	}
	s.k = max(s.k, s.limit.longestSegments())
	s.counts[cur] += c
	s.keepNewest(MaxWindowUnits)
}

// keepNewest drops the oldest units until at most n are left.
func (s *sliding) keepNewest(n int64) {
	for _, i := range slices.Backward(slices.Sorted(maps.Keys(s.counts))) {
		s.counts[i] = min(s.counts[i], n)
		n -= s.counts[i]
	}
}

// deny adds c units, but no more than are still free in the window with the most free units.
func (s *sliding) deny(c, _ int64) {
	var free int64
	for _, w := range s.limit.windows() {
		free = max(free, s.remaining(w))
	}
	if free > 0 {
		s.spend(min(c, free))
	}
}

// give removes units that count in the call's own windows, oldest first (section 5).
func (s *sliding) give(n int64) {
	cur := segmentAt(s.limit, s.now)
	for i := cur - s.reach(Window{WindowUS: s.limit.longest()}); i <= cur; i++ {
		if back := min(n, s.counts[i]); back > 0 {
			s.counts[i] -= back
			n -= back
		}
	}
}

func (l Limit) checkSegments() error {
	if l.SegmentUS == 0 && l.Segments > 0 && l.WindowUS%l.Segments != 0 || l.segment() < 1 {
		return fmt.Errorf("model: %d segments do not divide %d µs", l.Segments, l.WindowUS)
	}
	for _, w := range l.windows() {
		if w.WindowUS%l.segment() != 0 {
			return fmt.Errorf("model: a segment of %d µs does not divide %d µs", l.segment(), w.WindowUS)
		}
	}
	return within("segments", l.longest()/l.segment(), 1, MaxSegments)
}
