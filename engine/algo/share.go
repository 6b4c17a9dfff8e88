package algo

// Share is the part of a limit, or of one of its windows, that each of n processes enforces on its own while no process
// can reach the store. It is never below one unit.
type Share struct {
	Limit Limit
	// SameAlgorithm reports whether the share uses the limit's own algorithm. Otherwise it is a bucket, or a plain pacer
	// for a fair pacer.
	SameAlgorithm bool
	// Window is the length of the share's window in µs. It is 0 if the share is of the whole limit.
	Window int64
	// Scale is the divisor taken out of Count and Period.
	Scale int64
}

// Shares returns one process's share of the limit among n processes, for each of its windows. All processes' shares
// together admit no more than a bucket with the limit's capacity and rate, except that each admits one unit. For a
// penalty, and for a limit that allows or denies every request, the share is the limit itself.
func (l *Limit) Shares(n int64) []Share { return l.Algorithm.entry().shares(l, n) }

// SharesBound returns the maximum number of units by which n processes can exceed the limit during one fill time that
// includes a share's answer (docs/design/rules.md, section 9). The fill time is the time until an exhausted limit has
// all its units again, or the limit's longest window.
func (l *Limit) SharesBound(n int64) int64 {
	if bound := l.Algorithm.entry().sharesBound; bound != nil {
		return bound(l, n)
	}
	if l.Algorithm.Refills() {
		return 2 * (l.MostCharged() + max(0, n-l.Burst))
	}
	return 2 * max(l.MostCharged(), n)
}

// twoPrimaries is how long an old primary may answer beside the new one, in µs: the default node timeout of a Redis
// Cluster, after which a primary without a majority refuses writes.
const twoPrimaries = 15 * 1_000_000

// LossBound returns the maximum number of units by which the limit can be exceeded because the store has lost its state:
// all that it admits at once, and what refills while an old primary still answers.
func (l *Limit) LossBound() int64 { return l.MostCharged() + l.Refilled(twoPrimaries) }

// RecoversAt returns the instant, in µs since 1970, when a loss of the limit's state at the instant lost has no effect
// any more: the end of the window by the clock or the calendar that contains it. For other limits, it is the time after
// which no charge counts: the time to refill the burst and the debt or queue, the longest window, or the lease time.
// With NextPays it is the refill time of the burst. A penalty is never charged.
func (l *Limit) RecoversAt(lost int64) int64 {
	switch {
	case l.Algorithm.Punishes():
		return lost
	case l.Align != AlignFirst:
		return l.opens(Instant{Now: lost, Wall: lost})
	case l.Algorithm.Refills():
		return lost + l.RefillsWithin(l.LongestRefill())
	default:
		return lost + l.LongestWindow()
	}
}

// bucketShares returns the share of a limit that refills: a bucket with 1/n of its rate and burst.
func bucketShares(l *Limit, n int64) []Share {
	return []Share{bucketShare(l.Count, l.Period, l.Burst, n)}
}

// bucketShare returns a bucket with 1/n of a rate and a burst.
func bucketShare(count, period, burst, n int64) Share {
	return slowed(Limit{Algorithm: TokenBucket, Count: count, Period: period, Burst: max(1, burst/n)}, n)
}

// slowed returns a limit with 1/n of its rate: the same count in n times the period, or a smaller count in 100 years.
func slowed(l Limit, n int64) Share {
	if l.Period > century/n {
		units, _ := product(century, l.Count).over(l.Period)
		l.Count, l.Period, n = max(1, units/n), century, 1
	}
	s := Share{Limit: l}
	s.Limit.Count, s.Limit.Period, s.Scale = Reduce(l.Count, l.Period*n)
	return s
}

// Reduce divides a rate by the greatest common divisor of its count and period, so that
// amounts stay small.
func Reduce(count, period int64) (c, p, divisor int64) {
	a, b := count, period
	for b != 0 {
		a, b = b, a%b
	}
	return count / a, period / a, a
}
