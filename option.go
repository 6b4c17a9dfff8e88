package headgate

import (
	"slices"
	"time"

	"github.com/headgate/headgate/algo"
)

// Option sets one of a limit's fields. An option that a limit's algorithm has no
// use for is an error when the limit is built.
type Option func(*draft)

// draft is a limit while it is built: the fields as given, and which were.
type draft struct {
	algorithm algo.Algorithm
	rates     []Rate
	given     []string

	name     string
	burst    int64
	debt     int64
	queue    int64
	maxWait  time.Duration
	align    string
	segments int64
	segment  time.Duration
	variant  algo.Variant
	lease    time.Duration
}

func (d *draft) has(field string) bool { return slices.Contains(d.given, field) }

func option(field string, set func(*draft)) Option {
	return func(d *draft) {
		if !d.has(field) {
			d.given = append(d.given, field)
		}
		set(d)
	}
}

// Named gives the limit a name, 1 to 64 bytes. A key's state is called by it,
// and denials show it. Limits of one algorithm in one request need names that
// differ.
func Named(name string) Option {
	return option("name", func(d *draft) { d.name = name })
}

// Burst sets how many units pass at once from idle: 1 to 4294967295. By default
// it is the rate's count for a token bucket, and 1 for a pacer.
func Burst(units int64) Option {
	return option("burst", func(d *draft) { d.burst = units })
}

// AllowDebt lets a token bucket be overdrawn by up to so many units, 0 to
// 4294967295, as long as something is left in it: a large cost passes at once
// and later callers wait until it is paid back.
func AllowDebt(units int64) Option {
	return option("debt", func(d *draft) { d.debt = units })
}

// MaxWait sets the longest delay that a pacer hands out: 0 to 36525 days.
func MaxWait(longest time.Duration) Option {
	return option("max_wait", func(d *draft) { d.maxWait = longest })
}

// MaxQueue sets how many units may wait in a pacer: 0 to 4294967295.
func MaxQueue(units int64) Option {
	return option("max_queue", func(d *draft) { d.queue = units })
}

// ClockAligned starts fixed windows at whole multiples of the period since
// 1970 UTC, instead of at the first request.
func ClockAligned() Option {
	return option("align", func(d *draft) { d.align = "clock" })
}

// Calendar starts fixed windows with the calendar of an IANA time zone such as
// "Asia/Shanghai": the period is one minute, hour, day, week, month or year.
// The zone's data comes from the system, or from importing time/tzdata.
func Calendar(zone string) Option {
	return option("align", func(d *draft) { d.align = zone })
}

// Segments sets into how many segments a sliding window is divided: 1 to 1000,
// by default 1, and 50 with Strict. The period must be a multiple of it in µs.
func Segments(k int) Option {
	return option("segments", func(d *draft) { d.segments = int64(k) })
}

// SegmentLength sets how long a sliding window's segments are, instead of how
// many there are. Every window must be a multiple of it, 1 to 1000 times.
func SegmentLength(length time.Duration) Option {
	return option("segment", func(d *draft) { d.segment = length })
}

// Weighted counts the oldest segment of a sliding window by the share of it
// that the window still covers. It is the default.
func Weighted() Option { return variant(algo.Weighted) }

// Strict counts the oldest segment of a sliding window whole: never more than
// the limit in any span of the period, at the price of passing only count units
// per period and one segment when saturated.
func Strict() Option { return variant(algo.Strict) }

// Lenient ignores the oldest, partly covered segment of a sliding window, as
// the well-known scripts over small windows do.
func Lenient() Option { return variant(algo.Lenient) }

func variant(v algo.Variant) Option {
	return option("variant", func(d *draft) { d.variant = v })
}

// And adds windows to a sliding window or log: five a second and fifty a minute
// over one record, all or nothing. There are 8 windows at most, and a shorter
// one has the smaller limit.
func And(rates ...Rate) Option {
	return option("windows", func(d *draft) { d.rates = append(d.rates, rates...) })
}

// LeaseTime sets how long a concurrency limit's units are held unless renewed:
// 1 ms to 36525 days, by default 60 s.
func LeaseTime(lease time.Duration) Option {
	return option("lease", func(d *draft) { d.lease = lease })
}

// CountDenied makes refused requests count too: whoever keeps calling stays
// out. For fixed window, sliding window and sliding log.
func CountDenied() Option {
	return option("count_denied", func(*draft) {})
}
