package headgate

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// TokenBucket is a limit that holds up to Burst tokens and refills at Rate. The same algorithm has two other names. A
// leaky bucket used as a meter has capacity Burst and leaks at Rate; its level is Limit − Remaining of a [Decision].
// GCRA, the generic cell rate algorithm of redis-cell (CL.THROTTLE) and redis_rate, has a burst tolerance of Burst − 1.
// For a leaky bucket that queues and delays callers, use [Pacer].
//
// An idle key can spend a whole burst at once. Without Debt and NextPays, any time span x admits at most Burst +
// x·count/period units. With 100 a second and burst 20, that is 120 in any second. With the default burst, a period
// can admit up to 2·count; set a smaller burst to lower this bound.
type TokenBucket struct {
	// Rate is the refill rate.
	Rate Rate
	// Burst is the number of units that an idle key can spend at once: 1 to 281474976710655, by default the rate's
	// count.
	Burst int64
	// Debt is how far the bucket can be overdrawn, in units: 0 to 281474976710655. While the bucket is not empty, a
	// cost above its content passes at once, and later callers wait until the debt is refilled.
	Debt int64
	// NextPays lets a request pass regardless of its cost, once all earlier costs have been refilled. Its own cost
	// delays the next request, as in Guava's RateLimiter. With 1 a second and an empty bucket, requests of 1, 10 and 1
	// units pass after 0, 1 and 11 s. A cost that would take over 100 years to refill never passes.
	NextPays bool
	// Name is the limit's name: see [Limit].
	Name string
}

func (b TokenBucket) rule() engine.Limit {
	return build(algo.TokenBucket, b.Rate, units("burst", b.Burst), units("debt", b.Debt), flag("next_pays", b.NextPays), word("name", b.Name))
}

// AdaptiveRate is a token bucket whose rate adapts to the outcomes of its requests ([Policy.Outcome]). The rate starts at
// Rate. After each Interval, it falls by an eighth if more than Failures percent of the reported requests have failed.
// Otherwise, it rises by a 64th if at least three quarters of the rate were used. Each change needs 10 reports and
// applies to all processes that share the store.
type AdaptiveRate struct {
	// Rate is the refill rate at the start, and again after the state of the key is lost. Its period is at most an hour.
	Rate Rate
	// Min and Max are the lowest and the highest count per period: Min is 1 to the count of Rate, and Max is that count
	// to 100000000. Both must be set.
	Min, Max int64
	// Burst is the number of units that an idle key can spend at once: 1 to 281474976710655, by default the rate's
	// count.
	Burst int64
	// Interval is the time between two changes of the rate: 100 ms to 1 minute, by default 1 s.
	Interval time.Duration
	// Failures is the percentage of failed requests beyond which the rate falls: 1 to 99, by default 5.
	Failures int64
	// MaxPause caps the Retry-After that the limit obeys: 1 µs to 1 hour from each report, by default 1 minute. Nothing
	// passes during the pause.
	MaxPause time.Duration
	// Name is the limit's name: see [Limit].
	Name string
}

func (a AdaptiveRate) rule() engine.Limit {
	return build(algo.AdaptiveRate, a.Rate, units("min", a.Min), units("max", a.Max), units("burst", a.Burst), span("interval", a.Interval),
		units("failures", a.Failures), span("max_pause", a.MaxPause), word("name", a.Name))
}

// Pacer is a limit that spaces requests out instead of denying them. [Decision].Delay tells an admitted caller how
// long to wait, so that units leave at the rate: at 10 a second, one every 100 ms. It needs MaxWait, MaxQueue or both.
// [Policy.Wait] waits, and [Policy.Reserve] returns the delay.
type Pacer struct {
	// Rate is the rate of departing units.
	Rate Rate
	// MaxWait is the longest delay: up to 36525 days. A request that would have to wait longer is denied.
	MaxWait time.Duration
	// MaxQueue is the maximum number of units that may wait: up to 281474976710655. A request that would make the
	// queue longer is denied.
	MaxQueue int64
	// Burst is the number of units that an idle key can use without a delay, by default 1.
	Burst int64
	// NextPays has the same meaning as in [TokenBucket].
	NextPays bool
	// Name is the limit's name: see [Limit].
	Name string
}

func (p Pacer) rule() engine.Limit {
	return build(algo.Pacer, p.Rate, span("max_wait", p.MaxWait), units("max_queue", p.MaxQueue), units("burst", p.Burst), flag("next_pays", p.NextPays), word("name", p.Name))
}

// WarmUp is a token bucket that starts slowly, for a backend with cold caches. A cold limit takes three times as
// long as the rate implies to refill the first token. Each later token takes less time, until the limit is warm. If
// the limit is used at its allowed rate, it is warm after the time Over. If a limit has had all its tokens for more
// than a quarter of that time, it cools down by the number of tokens that would have refilled since it became full.
//
// With 2 a second over 4 s, callers pass after 0, 1.375, 2.5, 3.375, 4, 4.5, 5 s: the sequence of Guava's
// RateLimiter.
type WarmUp struct {
	// Rate is the refill rate of a warm limit.
	Rate Rate
	// Over is the time until a cold limit is warm: 1 ms to 36525 days.
	Over time.Duration
	// Burst is the number of units that an idle key can spend at once, by default 1.
	Burst int64
	// NextPays has the same meaning as in [TokenBucket].
	NextPays bool
	// Name is the limit's name: see [Limit].
	Name string
}

func (w WarmUp) rule() engine.Limit {
	return build(algo.WarmUp, w.Rate, engine.Setting{Field: "warm_up", Span: w.Over}, units("burst", w.Burst), flag("next_pays", w.NextPays), word("name", w.Name))
}
