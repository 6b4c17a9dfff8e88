package algo

// Share is the part of a limit, or of one of its windows, that each of n processes enforces on its own while no process
// can reach the store.
type Share struct {
	// Limit is the share as a limit. It is [DenyAll] if the share is less than one unit.
	Limit Limit
	// Own reports whether the share uses the limit's own algorithm. Otherwise it is a bucket, or a plain pacer for a
	// fair pacer.
	Own bool
	// Window is the length of the share's window in µs. It is 0 if the share is of the whole limit.
	Window int64
	// Scale is the divisor taken out of Count and Period.
	Scale int64
}

// Shares returns one process's share of the limit among n processes, for each of its windows. All processes' shares
// together admit no more than a bucket with the limit's capacity and rate. Only pacers can admit more, because each
// share of a pacer has a burst of at least 1. For a penalty, and for a limit that allows or denies every request, the
// share is the limit itself.
func (l *Limit) Shares(n int64) []Share { return l.Algorithm.entry().shares(l, n) }

// SharesBound returns the maximum number of units by which n processes can exceed the limit during one fill time that
// includes a share's answer (docs/design/rules.md, section 9). The fill time is the time until an exhausted limit has
// all its units again, or the limit's longest window.
func (l *Limit) SharesBound(n int64) int64 {
	if bound := l.Algorithm.entry().sharesBound; bound != nil {
		return bound(l, n)
	}
	return 2 * l.MostCharged()
}

// bucketShares returns the share of a limit that refills: a bucket with 1/n of its rate and burst.
func bucketShares(l *Limit, n int64) []Share {
	return []Share{bucketShare(l.Count, l.Period, l.Burst/n, n)}
}

// bucketShare returns a bucket with 1/n of a rate.
func bucketShare(count, period, burst, n int64) Share {
	return slowed(Limit{Algorithm: TokenBucket, Count: count, Period: period, Burst: burst}, n)
}

// slowed returns a limit with 1/n of its rate: the same count in n times the period. If the period would exceed 100
// years, or the burst would be below one unit, the share denies everything.
func slowed(l Limit, n int64) Share {
	if l.Burst < 1 || l.Period > century/n {
		return Share{Limit: Limit{Algorithm: DenyAll}, Scale: 1}
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
