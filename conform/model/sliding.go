package model

import (
	"maps"
	"sort"
)

// sliding is a sliding window (section 5): counts by segment, aligned to the
// clock. What a segment is depends on the numbers of limit.
type sliding struct {
	limit  Limit
	now    int64
	counts map[int64]int64
}

func newSliding(l Limit, now int64) *sliding {
	return &sliding{limit: l, now: now, counts: map[int64]int64{}}
}

func (s *sliding) at(l Limit, now int64) (view, bool) {
	v := newSliding(l, now)
	v.counts = maps.Clone(s.counts)
	corrected := false
	cur := segmentAt(s.limit, now)
	for i, n := range s.counts {
		if i > cur { // rule 8: later than now is now
			delete(v.counts, i)
			v.counts[cur] += n
			corrected = true
		}
	}
	if sameSegments(s.limit, l) {
		return v, corrected
	}
	// Rule 10: all that still counts, by the numbers it was counted by, moves
	// into the current segment. A segment that is partly expired counts whole.
	moved := int64(0)
	for i, n := range v.counts {
		if i >= cur-reach(s.limit) {
			moved += n
		}
	}
	v.counts = map[int64]int64{}
	if moved > 0 {
		v.counts[segmentAt(l, now)] = moved
	}
	return v, true
}

func segmentAt(l Limit, now int64) int64 {
	s := l.segment()
	return floorTo(now, s) / s
}

// reach is how many segments before the current one can count: k, for the
// oldest, partly expired one, but k−1 when lenient.
func reach(l Limit) int64 {
	k := l.longest() / l.segment()
	if l.Variant == Lenient {
		return k - 1
	}
	return k
}

// sameSegments compares the numbers that give a segment its meaning: s, k of
// the longest window, and the variant. Changed limits, or a changed smaller
// window, leave the segments as they are.
func sameSegments(a, b Limit) bool {
	return a.segment() == b.segment() && a.longest() == b.longest() && variant(a) == variant(b)
}

func variant(l Limit) string {
	if l.Variant == "" {
		return Weighted
	}
	return l.Variant
}

// passes reports whether c would pass one window at time t ≥ now, nobody else
// coming.
func (s *sliding) passes(w Window, c, t int64) bool {
	seg := s.limit.segment()
	k, cur, e := w.WindowUS/seg, segmentAt(s.limit, t), t-floorTo(t, seg)
	var sum, old int64
	for i, n := range s.counts {
		switch {
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
		rows = append(rows, row{limit: w.Limit, remaining: s.remaining(w), reset: s.reset(w), wait: s.wait(w, c)})
	}
	return rows
}

// remaining is the largest c that passes now: if c passes, all less do.
func (s *sliding) remaining(w Window) int64 {
	refused := sort.Search(int(w.Limit), func(i int) bool { return !s.passes(w, int64(i)+1, s.now) })
	return int64(refused)
}

// wait finds the first instant at which c passes. What counts never grows while
// time passes: a segment's weight falls from 1 to 0 and stays there. So the
// instants that pass are all those from the first one on.
func (s *sliding) wait(w Window, c int64) int64 {
	if c > w.Limit {
		return never
	}
	if c == 0 {
		return 0
	}
	return int64(sort.Search(int(s.reset(w)), func(us int) bool { return s.passes(w, c, s.now+int64(us)) }))
}

// reset is the edge at which the last segment that is not empty stops counting
// in this window. (A log is different: there the longest window decides.)
func (s *sliding) reset(w Window) int64 {
	seg := s.limit.segment()
	counts := w.WindowUS / seg
	if variant(s.limit) != Lenient {
		counts++
	}
	var us int64
	for i, n := range s.counts {
		if n > 0 {
			us = max(us, (i+counts)*seg-s.now)
		}
	}
	return us
}

func (s *sliding) most() int64 {
	n := int64(never)
	for _, w := range s.limit.windows() {
		n = min(n, s.remaining(w))
	}
	return n
}

func (s *sliding) delay(int64) int64 { return 0 }

// spend also deletes every segment that no longer counts; only a clock that is
// set back can tell. A give deletes none: only an admitted call does.
func (s *sliding) spend(c int64) {
	cur := segmentAt(s.limit, s.now)
	for i := range s.counts {
		if i < cur-reach(s.limit) {
			delete(s.counts, i)
		}
	}
	s.counts[cur] += c
}

// deny adds what is still free, by the window with the most left.
func (s *sliding) deny(c int64) {
	var free int64
	for _, w := range s.limit.windows() {
		free = max(free, s.remaining(w))
	}
	if free > 0 {
		s.spend(min(c, free))
	}
}

// give takes the oldest counted units first (section 5).
func (s *sliding) give(n int64) {
	cur := segmentAt(s.limit, s.now)
	for i := cur - reach(s.limit); i <= cur; i++ {
		if back := min(n, s.counts[i]); back > 0 {
			s.counts[i] -= back
			n -= back
		}
	}
}
