package algo

import (
	"math"
	"time"
	"unique"
)

// Never is the wait of a cost that could not pass an untouched limit.
const Never int64 = math.MaxInt64

// MaxWindows is how many windows one limit can have.
const MaxWindows = 8

// Algorithm says how a limit counts. Its number is written into stored state:
// values are added at the end and never reused.
type Algorithm uint8

// The algorithms. The zero value is no algorithm: an absent state, a limit that
// was not built.
const (
	None Algorithm = iota
	TokenBucket
	Pacer
	FixedWindow
	SlidingWindow
	SlidingLog
	Concurrency
	DenyAll
	Unlimited
)

var algorithmNames = [...]string{
	"none", "token-bucket", "pacer", "fixed-window", "sliding-window", "sliding-log", "concurrency", "deny", "unlimited",
}

// String returns the name used in configuration files and in store keys.
func (a Algorithm) String() string {
	if int(a) < len(algorithmNames) {
		return algorithmNames[a]
	}
	return "unknown"
}

// Variant says how a sliding window treats its oldest, partly expired segment.
type Variant uint8

// The variants: Weighted counts the expired share of the oldest segment as
// gone, Strict counts that segment whole, Lenient ignores it.
const (
	Weighted Variant = iota
	Strict
	Lenient
)

// String returns the name used in configuration files.
func (v Variant) String() string {
	return [...]string{"weighted", "strict", "lenient"}[min(v, Lenient)]
}

// Align says where a fixed window starts.
type Align uint8

// The alignments: at the first request, at a multiple of the period since
// 1970, or at the start of a calendar unit in a time zone.
const (
	AlignFirst Align = iota
	AlignClock
	AlignCalendar
)

// Window is one window of a limit: at most Limit units in Span microseconds.
type Window struct {
	Limit int64
	Span  int64
}

// Limit is the numbers of one limit, already checked by whoever built it. It is
// a comparable value.
type Limit struct {
	Algorithm   Algorithm
	Variant     Variant
	Align       Align
	Unit        Unit // of a calendar window
	CountDenied bool
	HasQueue    bool // Queue is set
	HasWait     bool // MaxWait is set

	// Count units per Period µs: L and P. For bucket and pacer they are divided
	// by their greatest common divisor; for windows and logs they are the first
	// window; for concurrency Count is the limit and Period the lease.
	Count  int64
	Period int64
	// Burst is B: what passes at once from idle (bucket, pacer).
	Burst int64
	// Queue is how many units a pacer lets wait, or a bucket lets be owed.
	Queue int64
	// MaxWait is the longest wait, in µs, that a pacer hands out.
	MaxWait int64
	// Segment is the length in µs of a sliding window's segments.
	Segment int64

	// Several holds all the windows of a limit that has more than one. It is a
	// handle so that Limit stays small and comparable.
	Several unique.Handle[Windows]
	// Zone is the calendar's time zone, the same pointer for the same name.
	Zone *time.Location
}

// Windows is a list of windows as a comparable value.
type Windows struct {
	N    int
	List [MaxWindows]Window
}

// windows returns the limit's windows. buf is where a single one is put, so
// that nothing is allocated.
func (l *Limit) windows(buf *Windows) []Window {
	if l.Several == (unique.Handle[Windows]{}) {
		buf.List[0] = Window{Limit: l.Count, Span: l.Period}
		return buf.List[:1]
	}
	*buf = l.Several.Value()
	return buf.List[:buf.N]
}

// Longest returns the longest span among the limit's windows, in µs.
func (l *Limit) Longest() int64 {
	var buf Windows
	longest := int64(0)
	for _, w := range l.windows(&buf) {
		longest = max(longest, w.Span)
	}
	return longest
}

// Windows returns the windows of a sliding window or log, in order.
func (l *Limit) Windows() []Window {
	var buf Windows
	return append([]Window(nil), l.windows(&buf)...)
}

// Window returns one window of a limit that has several.
func (l *Limit) Window(i int) (w Window, ok bool) {
	if l.Several == (unique.Handle[Windows]{}) {
		return Window{}, false
	}
	several := l.Several.Value()
	if i >= several.N {
		return Window{}, false
	}
	return several.List[i], true
}

// Grid is the numbers of a limit that its units are counted on. Another grid is
// another counter, which starts empty: such numbers are part of what a state is
// called, so that no count is ever converted from one grid to another. Of all
// other limits and numbers the Grid is zero.
type Grid struct {
	// Count and Period are a pacer's rate, divided by their greatest common
	// divisor. Period alone is the length of a fixed window in µs, or that of a
	// sliding window's segments.
	Count  int64
	Period int64
	// Align, Unit and Zone say where a fixed window begins.
	Align Align
	Unit  Unit
	Zone  *time.Location
}

// Grid returns the numbers that the limit's units are counted on.
func (l *Limit) Grid() Grid {
	switch l.Algorithm {
	case Pacer:
		return Grid{Count: l.Count, Period: l.Period}
	case FixedWindow:
		if l.Align == AlignCalendar {
			return Grid{Align: l.Align, Unit: l.Unit, Zone: l.Zone}
		}
		return Grid{Period: l.Period, Align: l.Align}
	case SlidingWindow:
		return Grid{Period: l.Segment}
	default:
		return Grid{}
	}
}
