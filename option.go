package headgate

import (
	"time"

	"github.com/headgate/headgate/engine"
)

// LimitOption sets one field of a limit. An option that does not apply to the limit's algorithm makes the limit
// invalid.
type LimitOption = engine.Setting

// Named gives the limit a name, 1 to 64 bytes. The name is part of the name of a key's
// counter, and denials show it. Limits of one algorithm in one request need different
// names.
func Named(name string) LimitOption {
	return LimitOption{Field: "name", Word: name}
}

// Burst sets how many units an idle key can spend at once: 1 to 281474976710655. The default
// is the rate's count for a token bucket, and 1 for a pacer and a warm-up.
func Burst(units int64) LimitOption {
	return LimitOption{Field: "burst", Units: units}
}

// AllowDebt lets a caller overdraw a token bucket by up to this many units, 0 to
// 281474976710655, as long as the bucket is not empty: a large cost passes at once, and later
// callers wait until the debt is refilled.
func AllowDebt(units int64) LimitOption {
	return LimitOption{Field: "debt", Units: units}
}

// NextPays lets a request of a token bucket, pacer or warm-up pass regardless of its cost, once no earlier cost is
// outstanding. Its cost delays the next request, as in Guava's RateLimiter. With 1 a second and an empty bucket,
// requests of 1, 10 and 1 units pass after 0, 1 and 11 s. A cost that takes over 100 years to refill never passes.
func NextPays() LimitOption { return LimitOption{Field: "next_pays"} }

// MaxWait sets the longest delay that a pacer returns: 0 to 36525 days. It denies a
// request that would have to wait longer.
func MaxWait(longest time.Duration) LimitOption {
	return LimitOption{Field: "max_wait", Span: longest}
}

// MaxQueue sets the number of units that may wait in a pacer's queue: 0 to 281474976710655.
func MaxQueue(units int64) LimitOption {
	return LimitOption{Field: "max_queue", Units: units}
}

// Weight sets a key's weight under a fair-share limit, 1 to 100, by default 1. While two keys both ask for more than
// they get, a key of weight 3 gets three times as much as one of weight 1. Limits that differ only in their weights
// share one bucket, so an override can give a key another weight.
func Weight(times int) LimitOption {
	return LimitOption{Field: "weight", Units: int64(times)}
}

// Block sets the length of a key's first block under a penalty: 1 ms to 366 days, by default the period of its rate.
func Block(first time.Duration) LimitOption { return LimitOption{Field: "block", Span: first} }

// MaxBlock sets the longest block of a penalty: [Block] to 366 days, by default 32 times as long as the first.
func MaxBlock(longest time.Duration) LimitOption {
	return LimitOption{Field: "max_block", Span: longest}
}

// Forget sets how long a penalty takes to forget one block, from its start: [MaxBlock] to 366 days, by default
// [MaxBlock].
func Forget(after time.Duration) LimitOption { return LimitOption{Field: "forget", Span: after} }

// Align sets where fixed windows start: "first" at the first request, which is the default; "clock" at whole
// multiples of the period since 1970 UTC; or the name of an IANA time zone such as "Asia/Shanghai", by that zone's
// calendar. With a zone, the period is one minute, hour, day, week, month or year. The zone's data comes from the
// system, or from importing time/tzdata.
func Align(to string) LimitOption {
	return LimitOption{Field: "align", Word: to}
}

// Anchor sets the start of the windows of a time zone. It is a date, or a date and time in that zone, such as
// "2026-01-31" or "2026-01-31T17:30". Every window starts at that time, on the same weekday, day of the month or day
// of the year. Monthly windows from the 31st start on the last day of a shorter month.
func Anchor(at string) LimitOption {
	return LimitOption{Field: "anchor", Word: at}
}

// Segments sets the number of segments of a sliding window: 1 to 1000, by default 1, and 50 with Strict. The period
// in µs must be a multiple of it.
func Segments(k int) LimitOption {
	return LimitOption{Field: "segments", Units: int64(k)}
}

// SegmentLength sets the length of a sliding window's segments, instead of their number. Every window must be 1 to
// 1000 times as long.
func SegmentLength(length time.Duration) LimitOption {
	return LimitOption{Field: "segment", Span: length}
}

// Strict counts the oldest segment of a sliding window in full, so no span of the period admits more than the limit.
// In exchange, a saturated limit admits only count units in each period plus one segment.
func Strict() LimitOption { return LimitOption{Field: "variant", Word: "strict"} }

// Lenient ignores the oldest, partly expired segment of a sliding window, as the well-known scripts over small
// windows do.
func Lenient() LimitOption { return LimitOption{Field: "variant", Word: "lenient"} }

// And adds windows to a sliding window or log: five a second and fifty a minute on one record, all or nothing. A
// limit has at most 8 windows, and each shorter window has a smaller count.
func And(rates ...Rate) LimitOption {
	return LimitOption{Field: "windows", Rates: rates}
}

// LeaseTime sets how long a caller holds units of a concurrency limit without renewing them: 1 ms to 36525 days, by
// default 60 s.
func LeaseTime(lease time.Duration) LimitOption {
	return LimitOption{Field: "lease", Span: lease}
}

// CountDenied also counts denied requests, so a caller that keeps calling stays denied. It applies to fixed windows,
// sliding windows and sliding logs.
func CountDenied() LimitOption {
	return LimitOption{Field: "count_denied"}
}
