// Package rule contains a constructor for each kind of engine limit, for the tests and measurements in this
// repository. Programs use the limits in package headgate, which document every field.
package rule

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// TokenBucket returns a token bucket.
func TokenBucket(rate engine.Rate, settings ...engine.Setting) engine.Limit {
	return engine.Build(algo.TokenBucket, []engine.Rate{rate}, settings...)
}

// Pacer returns a pacer.
func Pacer(rate engine.Rate, settings ...engine.Setting) engine.Limit {
	return engine.Build(algo.Pacer, []engine.Rate{rate}, settings...)
}

// FairShare returns a fair share.
func FairShare(rate engine.Rate, settings ...engine.Setting) engine.Limit {
	return engine.Build(algo.FairShare, []engine.Rate{rate}, settings...)
}

// Penalty returns a penalty.
func Penalty(denials engine.Rate, settings ...engine.Setting) engine.Limit {
	return engine.Build(algo.Penalty, []engine.Rate{denials}, settings...)
}

// AdaptiveRate returns a token bucket whose rate moves between least and most units per period.
func AdaptiveRate(rate engine.Rate, least, most int64, settings ...engine.Setting) engine.Limit {
	both := []engine.Setting{{Field: "min", Units: least}, {Field: "max", Units: most}}
	return engine.Build(algo.AdaptiveRate, []engine.Rate{rate}, append(both, settings...)...)
}

// FixedWindow returns a fixed window.
func FixedWindow(rate engine.Rate, settings ...engine.Setting) engine.Limit {
	return engine.Build(algo.FixedWindow, []engine.Rate{rate}, settings...)
}

// SlidingWindow returns a sliding window.
func SlidingWindow(rate engine.Rate, settings ...engine.Setting) engine.Limit {
	return engine.Build(algo.SlidingWindow, []engine.Rate{rate}, settings...)
}

// SlidingLog returns a sliding log.
func SlidingLog(rate engine.Rate, settings ...engine.Setting) engine.Limit {
	return engine.Build(algo.SlidingLog, []engine.Rate{rate}, settings...)
}

// WarmUp returns a token bucket that starts slowly.
func WarmUp(rate engine.Rate, over time.Duration, settings ...engine.Setting) engine.Limit {
	return engine.Build(algo.WarmUp, []engine.Rate{rate}, append([]engine.Setting{{Field: "warm_up", Span: over}}, settings...)...)
}

// Concurrency returns a limit on the units held at the same time.
func Concurrency(limit int64, settings ...engine.Setting) engine.Limit {
	return engine.Build(algo.Concurrency, []engine.Rate{Per(limit, engine.DefaultLease)}, settings...)
}

// FairPacer returns a fair pacer.
func FairPacer(rate engine.Rate, settings ...engine.Setting) engine.Limit {
	return engine.Build(algo.FairPacer, []engine.Rate{rate}, settings...)
}

// FairConcurrency returns a limit on the units that all keys hold at the same time, divided among the keys.
func FairConcurrency(limit int64, settings ...engine.Setting) engine.Limit {
	return engine.Build(algo.FairConcurrency, []engine.Rate{Per(limit, engine.DefaultLease)}, settings...)
}

// Per returns a rate of count units per period.
func Per(count int64, period time.Duration) engine.Rate { return engine.Per(count, period) }

// PerSecond returns a rate of count units per second.
func PerSecond(count int64) engine.Rate { return Per(count, time.Second) }

// PerMinute returns a rate of count units per minute.
func PerMinute(count int64) engine.Rate { return Per(count, time.Minute) }

// PerHour returns a rate of count units per hour.
func PerHour(count int64) engine.Rate { return Per(count, time.Hour) }

// PerDay returns a rate of count units per day.
func PerDay(count int64) engine.Rate { return Per(count, 24*time.Hour) }
