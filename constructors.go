package headgate

import (
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// Limit is how much is allowed: an immutable, comparable value, safe to share and to
// reuse. A limit that could not be built carries the reason: [engine.Limit.Err] returns
// it, and every verb that meets the limit answers it. Neither such a limit nor the zero
// Limit ever lets a request pass.
type Limit = engine.Limit

// ParseLimit reads a limit from text such as "100/s burst 200" or "sliding-log 5/1m
// 50/1h"; docs/reference/limits.md has them all. The error is an [*InputError].
func ParseLimit(text string) (Limit, error) { return engine.ParseLimit(text) }

// TokenBucket returns a limit that holds up to [Burst] units (by default the
// rate's count) and refills at the rate.
//
// From idle a whole burst passes at once; any span of length x admits at most
// burst + x·count/period. With the default burst an unlucky period can see
// 2·count: a smaller burst is the cure. 100 a second with burst 20 lets at most
// 120 through in any second.
//
// It takes [Burst], [AllowDebt] and [Named]. GCRA and the leaky bucket as a
// meter are the same arithmetic: see [GCRA], [LeakyBucket] and [Funnel].
func TokenBucket(rate Rate, options ...LimitOption) Limit {
	return engine.Build(algo.TokenBucket, []Rate{rate}, options...)
}

// GCRA is [TokenBucket] under the name of the generic cell rate algorithm. Its
// single instant is the same function of time; burst counts all units that pass
// at once, so a burst tolerance of 15 extra units is Burst(16).
func GCRA(rate Rate, options ...LimitOption) Limit { return TokenBucket(rate, options...) }

// LeakyBucket is [TokenBucket] seen from the other side: a bucket of capacity
// [Burst] that leaks at the rate, each unit adding to its level,
// which is Limit − Remaining of a [Decision]. The leaky bucket that makes callers queue is [Pacer].
func LeakyBucket(rate Rate, options ...LimitOption) Limit { return TokenBucket(rate, options...) }

// Funnel is [LeakyBucket] with its capacity: Funnel(15, Per(30, time.Minute))
// takes 15 at once and leaks one every 2 s.
func Funnel(capacity int64, leak Rate, options ...LimitOption) Limit {
	return TokenBucket(leak, append([]LimitOption{Burst(capacity)}, options...)...)
}

// Pacer returns a limit that spaces requests out instead of refusing them: an
// admitted caller is told how long to wait ([Decision.Delay]) so that units
// leave at the rate. Up to [Burst] units (by default 1) leave undelayed.
//
// It needs [MaxWait], [MaxQueue] or both, and refuses what would wait longer or
// queue beyond. It also takes [Burst] and [Named].
func Pacer(rate Rate, options ...LimitOption) Limit {
	return engine.Build(algo.Pacer, []Rate{rate}, options...)
}

// FixedWindow returns a limit of count units in each window of the period. The
// window starts with the first request, or as [Align] says.
//
// Two windows may meet in an unlucky period: it admits at most 2·count.
// It also takes [CountDenied] and [Named].
func FixedWindow(rate Rate, options ...LimitOption) Limit {
	return engine.Build(algo.FixedWindow, []Rate{rate}, options...)
}

// SlidingWindow returns a limit over segments of the period that are aligned to
// the clock. What passes in any period depends on the variant: weighted (the
// default) less than 2·count, [Strict] at most count, [Lenient] up to 2·count.
//
// It takes [Segments] or [SegmentLength], a variant, [And] for more windows
// over the same segments, [CountDenied] and [Named].
func SlidingWindow(rate Rate, options ...LimitOption) Limit {
	return engine.Build(algo.SlidingWindow, []Rate{rate}, options...)
}

// SlidingLog returns a limit that remembers each unit: at most count in every
// span of the period, exactly. It costs memory by the unit, so a log over
// 100 000 units is refused; SlidingWindow with Strict is the way there.
//
// It takes [And] for more windows over the same log, [CountDenied] and [Named].
func SlidingLog(rate Rate, options ...LimitOption) Limit {
	return engine.Build(algo.SlidingLog, []Rate{rate}, options...)
}

// Concurrency returns a limit of units held at a time: 1 to 100 000. A unit is
// held until it is released, or until its lease ([LeaseTime], by default 60 s)
// is over without having been renewed. The verbs are [Policy.Acquire] and those of
// [Permit].
//
// It takes [LeaseTime] and [Named].
func Concurrency(limit int64, options ...LimitOption) Limit {
	return engine.Build(algo.Concurrency, []Rate{Per(limit, engine.DefaultLease)}, options...)
}

// DenyAll returns the limit that refuses everything, for ever: limit 0,
// remaining 0, retry after [Never].
func DenyAll() Limit { return engine.Build(algo.DenyAll, nil) }

// NoLimit returns the limit that admits everything. Its decisions have no limit
// and no remaining: [Decision.Unlimited] is set.
func NoLimit() Limit { return engine.Build(algo.Unlimited, nil) }
