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

// Algorithm says how a limit counts. Its name is part of the keys of stores: names do
// not change. Its number is kept nowhere.
type Algorithm uint8

// The algorithms. The zero value is no algorithm: no state, or a limit that was not
// built. Those whose states have two words come first ([Algorithm.InWords]), and
// Unlimited is the last one.
const (
	None Algorithm = iota
	TokenBucket
	Pacer
	FixedWindow
	SlidingWindow
	SlidingLog
	WarmUp
	Concurrency
	DenyAll
	Unlimited
)

var algorithmNames = [...]string{
	None: "none", TokenBucket: "token-bucket", Pacer: "pacer", FixedWindow: "fixed-window",
	SlidingWindow: "sliding-window", SlidingLog: "sliding-log", WarmUp: "warm-up", Concurrency: "concurrency",
	DenyAll: "deny", Unlimited: "unlimited",
}

// String returns the name used in configuration files and in store keys.
func (a Algorithm) String() string {
	if int(a) < len(algorithmNames) {
		return algorithmNames[a]
	}
	return "unknown"
}

// Variant says how a sliding window counts its oldest, partly expired segment.
type Variant uint8

// The variants: Weighted counts the share of the oldest segment that is still in the
// window, Strict counts the whole segment, Lenient ignores it.
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

// The alignments: at the first request, at a multiple of the period since 1970, or at the
// start of a calendar unit in a time zone.
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

// Limit is the numbers of one limit, checked by the code that built it. It is a
// comparable value.
type Limit struct {
	Algorithm   Algorithm
	Variant     Variant
	Align       Align
	Unit        Unit // of a calendar window
	CountDenied bool
	HasQueue    bool // Queue is set
	HasWait     bool // MaxWait is set
	NextPays    bool // the cost of a request delays the next one

	// Count units per Period µs: L and P. For a bucket, a pacer and a warm-up they are divided by
	// their greatest common divisor. For a window and a log they are the first window.
	// For concurrency, Count is the limit and Period the lease time.
	Count  int64
	Period int64
	// Burst is B: how many units an idle bucket, pacer or warm-up lets through at once.
	Burst int64
	// Queue is the longest queue of a pacer, or the largest debt of a bucket, in units. Of
	// a bucket with NextPays it is what [Limit.Most] returns.
	Queue int64
	// MaxWait is the longest delay, in µs, that a pacer returns.
	MaxWait int64
	// WarmUp is how long a cold warm-up limit takes to be warm, in µs, if it is used at its
	// full rate.
	WarmUp int64
	// Segment is the length in µs of a sliding window's segments.
	Segment int64

	// Several has all the windows of a limit that has more than one. It is a handle, so
	// that Limit stays small and comparable.
	Several unique.Handle[Windows]
	// Zone is the calendar's time zone. One name always has the same pointer.
	Zone *time.Location
}

// Windows is a list of windows as a comparable value.
type Windows struct {
	N    int
	List [MaxWindows]Window
}

// windows returns the limit's windows. A single one is put into buf, so that nothing is
// allocated.
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

// Window returns one window of a limit that has several; ok is false if there is no such
// window.
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

// Grid is the numbers of a limit that its units are counted on. They are part of the
// counter's name: another grid is another counter, which starts empty, so no count is
// ever converted from one grid to another. For algorithms without such numbers the Grid
// is zero.
type Grid struct {
	// Count and Period are the rate of a pacer or a warm-up, divided by their greatest common divisor.
	// Period alone is the length in µs of a fixed window or of a sliding window's
	// segments.
	Count  int64
	Period int64
	// WarmUp is a warm-up's time in µs.
	WarmUp int64
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
	case WarmUp:
		return Grid{Count: l.Count, Period: l.Period, WarmUp: l.WarmUp}
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
