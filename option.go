package headgate

import (
	"time"

	"github.com/headgate/headgate/engine"
)

// LimitOption sets one of a limit's fields. An option that a limit's algorithm has no
// use for is the limit's error.
type LimitOption = engine.Setting

// Named gives the limit a name, 1 to 64 bytes. A key's state is called by it,
// and denials show it. Limits of one algorithm in one request need names that
// differ.
func Named(name string) LimitOption {
	return LimitOption{Field: "name", Word: name}
}

// Burst sets how many units pass at once from idle: 1 to 4294967295. By default
// it is the rate's count for a token bucket, and 1 for a pacer.
func Burst(units int64) LimitOption {
	return LimitOption{Field: "burst", Units: units}
}

// AllowDebt lets a token bucket be overdrawn by up to so many units, 0 to
// 4294967295, as long as something is left in it: a large cost passes at once
// and later callers wait until it is paid back.
func AllowDebt(units int64) LimitOption {
	return LimitOption{Field: "debt", Units: units}
}

// MaxWait sets the longest delay that a pacer hands out: 0 to 36525 days.
func MaxWait(longest time.Duration) LimitOption {
	return LimitOption{Field: "max_wait", Span: longest}
}

// MaxQueue sets how many units may wait in a pacer: 0 to 4294967295.
func MaxQueue(units int64) LimitOption {
	return LimitOption{Field: "max_queue", Units: units}
}

// Align says where fixed windows start: "first" at the first request, which is the
// default; "clock" at whole multiples of the period since 1970 UTC; or the name of an
// IANA time zone such as "Asia/Shanghai", with the calendar there: the period is then
// one minute, hour, day, week, month or year. The zone's data comes from the system, or
// from importing time/tzdata.
func Align(to string) LimitOption {
	return LimitOption{Field: "align", Word: to}
}

// Segments sets into how many segments a sliding window is divided: 1 to 1000,
// by default 1, and 50 with Strict. The period must be a multiple of it in µs.
func Segments(k int) LimitOption {
	return LimitOption{Field: "segments", Units: int64(k)}
}

// SegmentLength sets how long a sliding window's segments are, instead of how
// many there are. Every window must be a multiple of it, 1 to 1000 times.
func SegmentLength(length time.Duration) LimitOption {
	return LimitOption{Field: "segment", Span: length}
}

// Strict counts the oldest segment of a sliding window whole: never more than
// the limit in any span of the period, at the price of passing only count units
// per period and one segment when saturated.
func Strict() LimitOption { return LimitOption{Field: "variant", Word: "strict"} }

// Lenient ignores the oldest, partly covered segment of a sliding window, as
// the well-known scripts over small windows do.
func Lenient() LimitOption { return LimitOption{Field: "variant", Word: "lenient"} }

// And adds windows to a sliding window or log: five a second and fifty a minute
// over one record, all or nothing. There are 8 windows at most, and a shorter
// one has the smaller limit.
func And(rates ...Rate) LimitOption {
	return LimitOption{Field: "windows", Rates: rates}
}

// LeaseTime sets how long a concurrency limit's units are held unless renewed:
// 1 ms to 36525 days, by default 60 s.
func LeaseTime(lease time.Duration) LimitOption {
	return LimitOption{Field: "lease", Span: lease}
}

// CountDenied makes refused requests count too: whoever keeps calling stays
// out. For fixed window, sliding window and sliding log.
func CountDenied() LimitOption {
	return LimitOption{Field: "count_denied"}
}
