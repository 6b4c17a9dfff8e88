package headgate

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// Limit is a rule: an algorithm and its numbers. It is an immutable, comparable value, safe to share and reuse. An
// invalid limit carries its error: [engine.Limit.Err] returns it, and so does every verb that uses the limit. An
// invalid limit and the zero Limit deny every request.
type Limit = engine.Limit

// ParseLimit reads a limit from text such as "100/s burst 200" or "sliding-log 5/1m
// 50/1h"; docs/reference/limits.md describes every form. The error is an [*InputError].
func ParseLimit(text string) (Limit, error) { return engine.ParseLimit(text) }

// TokenBucket returns a limit that holds up to [Burst] tokens (by default the rate's
// count) and refills at the rate.
//
// An idle key can spend a whole burst at once. Any span of length x admits at most burst
// + x·count/period units: with 100 a second and burst 20, at most 120 in any second. With
// the default burst, a period can admit up to 2·count; set a smaller burst to lower that.
//
// It takes [Burst], [AllowDebt], [NextPays] and [Named]. GCRA and the leaky bucket as a meter are the
// same arithmetic: see [GCRA], [LeakyBucket] and [Funnel].
func TokenBucket(rate Rate, options ...LimitOption) Limit {
	return engine.Build(algo.TokenBucket, []Rate{rate}, options...)
}

// GCRA is [TokenBucket] under the name of the generic cell rate algorithm, which stores one instant and computes the
// same function of time. Burst is the total number of units that pass at once: a burst tolerance of 15 extra units is
// Burst(16).
func GCRA(rate Rate, options ...LimitOption) Limit { return TokenBucket(rate, options...) }

// LeakyBucket is [TokenBucket] seen from the other side: a bucket of capacity [Burst] that leaks at the rate. Each
// unit raises its level, which is Limit − Remaining of a [Decision]. For the leaky bucket that queues and delays
// callers use [Pacer].
func LeakyBucket(rate Rate, options ...LimitOption) Limit { return TokenBucket(rate, options...) }

// Funnel is [LeakyBucket] with its capacity as an argument: Funnel(15, Per(30,
// time.Minute)) admits 15 units at once and leaks one every 2 s.
func Funnel(capacity int64, leak Rate, options ...LimitOption) Limit {
	return TokenBucket(leak, append([]LimitOption{Burst(capacity)}, options...)...)
}

// Pacer returns a limit that spaces requests out instead of denying them.
// [Decision.Delay] tells an admitted caller how long to wait, so that units leave at the
// rate: at 10 a second, one every 100 ms. Up to [Burst] units (by default 1) leave
// without a delay.
//
// It needs [MaxWait], [MaxQueue] or both, and denies a request that would wait longer or
// make the queue longer. It also takes [Burst], [NextPays] and
// [Named].
func Pacer(rate Rate, options ...LimitOption) Limit {
	return engine.Build(algo.Pacer, []Rate{rate}, options...)
}

// WarmUp returns a token bucket that starts slowly, for a backend with cold caches. A cold limit takes three times as
// long as the rate says to refill the first token, and less for each later one, until it is warm. At the allowed
// rate, warming up takes the time over. A warm limit that has been full for more than a quarter of that time cools
// down by the number of tokens that it would have refilled since it was full.
//
// With 2 a second over 4 s, callers pass after 0, 1.375, 2.5, 3.375, 4, 4.5, 5 s: the
// sequence of Guava's RateLimiter. It takes [Burst] (by default 1), [NextPays] and [Named].
func WarmUp(rate Rate, over time.Duration, options ...LimitOption) Limit {
	return engine.Build(algo.WarmUp, []Rate{rate}, append([]LimitOption{{Field: "warm_up", Span: over}}, options...)...)
}

// FairShare returns one token bucket for all keys of a policy and divides it fairly among them. While the keys ask for
// more than the rate, each gets an equal part, or as much as it asks for if that is less. The rest goes to the other
// keys, so a lone key gets the whole rate. The keys need not be known in advance.
//
// With 1000 a second, one key that asks for 20000 a second and nine keys that ask for 50 each, the nine get all they
// ask for and the one gets 550. A lone key can have half of the [Burst] at once, so that the first request of another
// key passes. The burst is 10 to 68719476736 units, by default the rate's count. It also takes [Weight] and [Named].
func FairShare(rate Rate, options ...LimitOption) Limit {
	return engine.Build(algo.FairShare, []Rate{rate}, options...)
}

// Penalty returns a limit for repeat offenders, to be used in a policy with other limits. It counts denied requests of
// a key that arrive before the retry-after of the last denial is over. After count of them within the period it blocks
// the key: every request is denied, and nothing is counted. The first block lasts [Block], and each further one twice
// as long, up to [MaxBlock], or up to an eighth less, so that blocked keys do not return together. After each block,
// half as many denials begin the next one. The time [Forget] forgets one block.
//
// A caller that waits as told is never blocked. With 10 a minute, Block(time.Minute) and MaxBlock(time.Hour), a key
// that ignores denials is blocked after 10 of them for 53 to 60 s, then after 5 for 105 to 120 s, after 2 for 210 to
// 240 s, and finally after one for an hour. It also takes [Named].
func Penalty(denials Rate, options ...LimitOption) Limit {
	return engine.Build(algo.Penalty, []Rate{denials}, options...)
}

// FixedWindow returns a limit of count units in each window of the period. A window starts with the first request,
// unless [Align] sets another start.
//
// A span as long as the period can overlap two windows: it admits at most 2·count.
// FixedWindow takes [Align], [CountDenied] and [Named].
func FixedWindow(rate Rate, options ...LimitOption) Limit {
	return engine.Build(algo.FixedWindow, []Rate{rate}, options...)
}

// SlidingWindow returns a limit that counts the last period in segments aligned to the clock. The variant determines
// how many units a span of one period can admit: weighted (the default) less than 2·count, [Strict] at most count,
// [Lenient] up to 2·count.
//
// It takes [Segments] or [SegmentLength], a variant, [And] for more windows over the same
// segments, [CountDenied] and [Named].
func SlidingWindow(rate Rate, options ...LimitOption) Limit {
	return engine.Build(algo.SlidingWindow, []Rate{rate}, options...)
}

// SlidingLog returns a limit that records the time of each unit: every span of the period admits at most count units,
// without approximation. Memory grows with the units, so a count above 100 000 is an error; use SlidingWindow with
// Strict instead.
//
// It takes [And] for more windows over the same log, [CountDenied] and [Named].
func SlidingLog(rate Rate, options ...LimitOption) Limit {
	return engine.Build(algo.SlidingLog, []Rate{rate}, options...)
}

// Concurrency returns a limit on the units held at the same time: 1 to 100 000. A caller
// holds a unit until it releases it, or until the lease time ([LeaseTime], by default 60
// s) passes without a renewal. The verbs are [Policy.Acquire] and the methods of
// [Permit].
//
// It takes [LeaseTime] and [Named].
func Concurrency(limit int64, options ...LimitOption) Limit {
	return engine.Build(algo.Concurrency, []Rate{Per(limit, engine.DefaultLease)}, options...)
}

// DenyAll returns the limit that denies every request: limit 0, remaining 0, retry after
// [Never].
func DenyAll() Limit { return engine.Build(algo.DenyAll, nil) }

// NoLimit returns the limit that allows every request. Its decisions have no limit and no
// remaining units: [Decision.Unlimited] is set.
func NoLimit() Limit { return engine.Build(algo.Unlimited, nil) }
