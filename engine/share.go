package engine

import (
	"unique"

	"github.com/headgate/headgate/engine/algo"
)

// Share returns the limit that each of n processes enforces by itself, so that all of them
// together let through no more than the limit: 1/n of its rate, and of its burst, count,
// debt and queue, rounded down. If no unit is left, it is [algo.DenyAll]. A pacer keeps a
// burst of 1, because it then still spaces its callers.
//
// A share of 100/s burst 200 among 4 is 100/4s burst 50.
func Share(l Limit, n int64) Limit {
	s := *l.of()
	if n <= 1 || s.err != nil || !s.counts() {
		return l
	}
	m := &s.numbers
	switch m.Algorithm {
	case algo.TokenBucket, algo.Pacer, algo.WarmUp:
		s.shareRate(n)
	case algo.SlidingWindow, algo.SlidingLog:
		s.shareWindows(n)
	default:
		m.Count /= n
	}
	if m.Count < 1 || s.refills() && m.Burst < 1 {
		return Build(algo.DenyAll, nil)
	}
	return s.limit()
}

func (l *spec) refills() bool {
	a := l.numbers.Algorithm
	return a == algo.TokenBucket || a == algo.Pacer || a == algo.WarmUp
}

// shareRate divides a rate by n: the same count in n times the period. A period of over
// 100 years has no share.
func (l *spec) shareRate(n int64) {
	m := &l.numbers
	if m.Period > longest.Microseconds()/n {
		m.Count = 0
		return
	}
	m.Period *= n
	common := gcd(m.Count, m.Period)
	m.Count, m.Period, l.scale = m.Count/common, m.Period/common, l.scale*common
	m.Burst /= n
	switch {
	case m.Algorithm == algo.Pacer:
		m.Burst, m.Queue = max(1, m.Burst), m.Queue/n
	case m.Algorithm == algo.TokenBucket && m.NextPays:
		m.Queue = m.Most()
	case m.Algorithm == algo.WarmUp && m.Ramp() < 1:
		m.Algorithm, m.WarmUp = algo.TokenBucket, 0
	default:
		m.Queue /= n
	}
}

// shareWindows divides each window's count by n. A window whose share is as large as that
// of a longer one limits nothing, and is left out.
func (l *spec) shareWindows(n int64) {
	m := &l.numbers
	var shares algo.Windows
	for _, w := range m.Windows() {
		w.Limit /= n
		shares.List[shares.N] = w
		shares.N++
	}
	kept := algo.Windows{}
	for _, w := range shares.List[:shares.N] {
		if !exceeds(w, shares.List[:shares.N]) {
			kept.List[kept.N] = w
			kept.N++
		}
	}
	m.Count, m.Period, m.Several = kept.List[0].Limit, kept.List[0].Span, unique.Handle[algo.Windows]{}
	if kept.N > 1 {
		m.Several = unique.Make(kept)
	}
}

// exceeds reports whether a window limits nothing that a longer one does not.
func exceeds(w algo.Window, all []algo.Window) bool {
	for _, other := range all {
		if other.Span > w.Span && other.Limit <= w.Limit {
			return true
		}
	}
	return false
}

// Recovery returns how long after the limit was exhausted it is as if untouched, if no
// request comes: the refill of the burst, the longest window, the lease time. For a
// calendar's month and year it is 31 and 366 days.
func Recovery(l Limit) (us int64) {
	s := l.of()
	m := &s.numbers
	switch {
	case s.refills():
		us, _ = refill(s, m.Burst, 0)
		return max(us, s.rate(0).Period.Microseconds())
	case m.Unit == algo.Month:
		return (31 * day).Microseconds()
	case m.Unit == algo.Year:
		return (366 * day).Microseconds()
	default:
		return m.Longest()
	}
}
