package headgate

import (
	"strconv"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// Alignment is where the windows of a [FixedWindow] start: AlignFirst, AlignClock, or the name of an IANA time zone, such
// as "Asia/Shanghai".
type Alignment string

// The alignments without a time zone.
const (
	// AlignFirst starts a window at the first request. It is the default.
	AlignFirst Alignment = "first"
	// AlignClock starts windows at whole multiples of the period since 1970 UTC.
	AlignClock Alignment = "clock"
)

// Variant is how a [SlidingWindow] counts its oldest segment, which the window covers only in part.
type Variant uint8

// The variants.
const (
	// Strict counts the segment in full: a span of one period admits at most count, and a saturated limit admits count
	// units in each period plus one segment. It is the default.
	Strict Variant = iota
	// Weighted counts the fraction that the window still covers: a span of one period admits less than 2·count, and a
	// saturated limit with one segment admits count − 1 units in each period, or one in two periods.
	Weighted
	// Lenient ignores the segment, as the well-known scripts with small windows do: a span admits up to 2·count.
	Lenient
)

// String returns the variant as in the text of a limit, such as "strict".
func (v Variant) String() string {
	if v > Lenient {
		return "variant " + strconv.Itoa(int(v))
	}
	return [...]string{"strict", "weighted", "lenient"}[v]
}

// FixedWindow allows count units in each window of one period. A window starts with the first request, unless Align
// sets another start. A span as long as the period can overlap two windows, so it admits at most 2·count.
type FixedWindow struct {
	// Rate is the count in each window.
	Rate Rate
	// Align sets where windows start: at the first request by default. The name of a time zone starts them by that zone's
	// calendar; in this case the period must be one minute, hour, day, week, month or year. Go finds the zone's data on
	// the system, or in the package time/tzdata if the program imports it.
	Align Alignment
	// Anchor sets the start of the windows of a time zone. It is a date, or a date and time in that zone, such as
	// "2026-01-31" or "2026-01-31T17:30". Every window starts at the anchor's time of day, and on its weekday, day of
	// the month or day of the year. Monthly windows from the 31st start on the last day of a shorter month.
	Anchor string
	// CountDenied also counts denied requests, so a caller that keeps calling stays denied.
	CountDenied bool
	// Name is the limit's name: see [Limit].
	Name string
}

func (w FixedWindow) rule() engine.Limit {
	return build(algo.FixedWindow, w.Rate, word("align", string(w.Align)), word("anchor", w.Anchor), flag("count_denied", w.CountDenied), word("name", w.Name))
}

// SlidingWindow is a limit that counts the last period in segments aligned to the clock. The variant determines how
// many units a span of one period can admit.
type SlidingWindow struct {
	// Rate is the count in the window.
	Rate Rate
	// And contains further windows over the same segments, for limits such as five a second and fifty a minute. A
	// request passes in all windows or none. A limit has at most 8 windows, and each shorter window has a smaller
	// count.
	And []Rate
	// Variant determines how the oldest, partly expired segment counts: Strict by default, Weighted or Lenient.
	Variant Variant
	// Segments is the number of segments: 1 to 1000. The period in µs must be a multiple of it. By default it is the
	// largest such number up to 50, and 1 for Weighted and Lenient.
	Segments int
	// SegmentLength is the length of a segment, instead of Segments. Every window must be 1 to 1000 times as long.
	SegmentLength time.Duration
	// CountDenied also counts denied requests, so a caller that keeps calling stays denied.
	CountDenied bool
	// Name is the limit's name: see [Limit].
	Name string
}

func (w SlidingWindow) rule() engine.Limit {
	variant := ""
	if w.Variant != Strict {
		variant = w.Variant.String()
	}
	return build(algo.SlidingWindow, w.Rate, windows(w.And), word("variant", variant), units("segments", int64(w.Segments)),
		span("segment", w.SegmentLength), flag("count_denied", w.CountDenied), word("name", w.Name))
}

// SlidingLog is a limit that records the time of each unit: every span of the period admits at most count units,
// without approximation. Memory use grows with the number of units, so the count cannot exceed 100 000. For larger
// counts, use a [SlidingWindow].
type SlidingLog struct {
	// Rate is the count in the window.
	Rate Rate
	// And contains further windows over the same log, for limits such as five a second and fifty a minute. A request
	// passes in all windows or none. A limit has at most 8 windows, and each shorter window has a smaller count.
	And []Rate
	// CountDenied also counts denied requests, so a caller that keeps calling stays denied.
	CountDenied bool
	// Name is the limit's name: see [Limit].
	Name string
}

func (l SlidingLog) rule() engine.Limit {
	return build(algo.SlidingLog, l.Rate, windows(l.And), flag("count_denied", l.CountDenied), word("name", l.Name))
}
