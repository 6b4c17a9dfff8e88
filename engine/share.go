package engine

import (
	"strconv"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// Shares returns the limits that each of n processes enforces by itself while no process
// reaches the store, all or nothing. Every share is a bucket, so that in any span the
// processes together let through no more than a bucket of the limit's capacity and rate:
//
//	token bucket, warm-up      1/n of the rate (a warm-up's full rate) and of the burst
//	window, log                for each window a bucket of 1/n of its count in its length
//	pacer                      1/n of the rate, queue and burst, and a burst of 1 at least
//	concurrency                1/n of the permits
//
// Units are rounded down; a share below one unit is [algo.DenyAll]. The length of a calendar's
// window is its longest: 25 h for a day. Debt, NextPays and CountDenied are left out.
//
// The shares of "sliding-log 5/1s 50/1h" among 2 are 2/2s burst 2 and 25/2h burst 25.
func Shares(l Limit, n int64) []Limit {
	s := l.of()
	if s.err != nil || !s.counts() {
		return []Limit{l}
	}
	var shares []Limit
	m := &s.numbers
	switch m.Algorithm {
	case algo.Concurrency:
		own := *s
		own.numbers.Count /= n
		shares = []Limit{own.orDeny(own.numbers.Count)}
	case algo.Pacer:
		own := *s
		own.numbers.Burst, own.numbers.Queue = max(1, m.Burst/n), m.Queue/n
		shares = []Limit{own.slowed(n)}
	case algo.TokenBucket, algo.WarmUp:
		shares = []Limit{s.share(m.Count, m.Period, m.Burst/n, n)}
	case algo.SlidingWindow, algo.SlidingLog:
		for _, w := range m.Windows() {
			shares = append(shares, s.share(w.Limit, w.Span, w.Limit/n, n))
		}
	default:
		shares = []Limit{s.share(m.Count, s.longestWindow(), m.Count/n, n)}
	}
	return shares
}

// share returns a bucket of 1/n of a rate. Its name tells it from the shares of other limits
// and windows of one key.
func (l *spec) share(count, period, burst, n int64) Limit {
	own := spec{scale: 1, name: l.numbers.Algorithm.String() + " " + strconv.FormatInt(period, 10) + " " + l.Name()}
	if l.refills() {
		own.scale, own.name = l.scale, l.numbers.Algorithm.String()+" "+l.Name() // a bucket's rate may change under its state
	}
	own.numbers = algo.Limit{Algorithm: algo.TokenBucket, Count: count, Period: period, Burst: burst}
	return own.slowed(n)
}

// slowed returns the limit at 1/n of its rate: the same count in n times the period. A period
// of over 100 years has no share.
func (l *spec) slowed(n int64) Limit {
	m := &l.numbers
	if m.Period > longest.Microseconds()/n {
		return Build(algo.DenyAll, nil)
	}
	m.Period *= n
	common := gcd(m.Count, m.Period)
	m.Count, m.Period, l.scale = m.Count/common, m.Period/common, l.scale*common
	return l.orDeny(m.Burst)
}

func (l *spec) orDeny(units int64) Limit {
	if units < 1 {
		return Build(algo.DenyAll, nil)
	}
	return l.limit()
}

// MostPermits returns a concurrency limit of the same name with as many permits as there can be, and
// another lease time: a permit that was given beside the store is added to it for the rest of its
// lease, even above the limit.
func MostPermits(l Limit, lease time.Duration) Limit {
	own := *l.of()
	if own.numbers.Algorithm == algo.Concurrency {
		own.numbers.Count, own.numbers.Period = maxHeld, lease.Microseconds()
	}
	return own.limit()
}

func (l *spec) refills() bool {
	a := l.numbers.Algorithm
	return a == algo.TokenBucket || a == algo.Pacer || a == algo.WarmUp
}

// longestWindow returns the length of the longest window in µs: of a calendar's day 25 hours,
// because clocks are set back.
func (l *spec) longestWindow() int64 {
	m := &l.numbers
	length := micros(m.Longest())
	switch m.Unit {
	case algo.Day:
		length = day + time.Hour
	case algo.Week:
		length = week + time.Hour
	case algo.Month:
		length = 31*day + time.Hour
	case algo.Year:
		length = 366*day + time.Hour
	}
	return length.Microseconds()
}

// Depth returns how long a limit takes, in µs, from the most that can be charged to untouched:
// the refill of its burst and of its debt or queue, its longest window, its lease time. What a
// store that lost its data has forgotten counts no longer than that. With NextPays it is the
// refill of the burst.
func Depth(l Limit) (us int64) {
	s := l.of()
	m := &s.numbers
	if !s.refills() {
		return s.longestWindow()
	}
	us, ok := refill(s, m.Burst, Debt(l))
	if !ok {
		us = longest.Microseconds()
	}
	return max(us, s.rate(0).Period.Microseconds()) + m.WarmUp
}

// Debt returns how many units a bucket lends or a pacer queues: 0 for every other limit, and
// with NextPays.
func Debt(l Limit) int64 {
	m := l.Numbers()
	if m.NextPays || m.Algorithm != algo.TokenBucket && m.Algorithm != algo.Pacer {
		return 0
	}
	units, part := m.Depth()
	if part > 0 {
		units++
	}
	return units - m.Burst
}

// SharesBound returns by how many units a span of the limit's own time that holds a share's
// answer can exceed the limit, with n processes (docs/design/rules.md, section 9): its
// capacity once before the shares and once with them, for a bucket its debt or queue too, and
// the bursts of 1 of a pacer. The own time is the time to fill from empty, or the longest
// window. A longer span can add as much for each such time.
func SharesBound(l Limit, n int64) int64 {
	switch m := l.Numbers(); m.Algorithm {
	case algo.Pacer:
		return 2*MostCharged(l) + max(0, n-m.Burst)
	case algo.Concurrency:
		return m.Count
	default:
		return 2 * MostCharged(l)
	}
}

// MostCharged returns the largest number of units that an untouched limit admits at once, its
// debt or queue included; of several windows that of the largest.
func MostCharged(l Limit) (units int64) {
	switch m := l.Numbers(); m.Algorithm {
	case algo.SlidingWindow, algo.SlidingLog:
		for _, w := range m.Windows() {
			units = max(units, w.Limit)
		}
		return units
	default:
		return l.Capacity() + Debt(l)
	}
}
