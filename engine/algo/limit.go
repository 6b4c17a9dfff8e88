package algo

import (
	"math"
	"time"
	"unique"
)

// MaxUnits is the largest count, limit, burst, debt or queue of a limit, and the largest count of a fixed window:
// 2^48 − 1, six bytes in a stored state. Sums of 32 such numbers stay below 2^53, where the scripts of the Redis
// store are exact.
const MaxUnits = 1<<48 - 1

// Never is the wait for a cost that can never pass, because it exceeds the capacity.
const Never int64 = math.MaxInt64

// Variant determines how a sliding window counts its oldest, partly expired segment.
type Variant uint8

// The variants: Weighted counts the fraction of the oldest segment that is still in the window, Strict counts the whole
// segment, and Lenient ignores it.
const (
	Weighted Variant = iota
	Strict
	Lenient
)

// String returns the name used in configuration files.
func (v Variant) String() string {
	return [...]string{"weighted", "strict", "lenient"}[min(v, Lenient)]
}

// Align determines where a fixed window starts.
type Align uint8

// The alignments: at the first request, at a multiple of the period since 1970, or at the
// start of a calendar unit in a time zone.
const (
	AlignFirst Align = iota
	AlignClock
	AlignCalendar
)

// Limit contains the parameters of one limit. The code that built it has checked them. It is a comparable value.
type Limit struct {
	Algorithm   Algorithm
	Variant     Variant
	Align       Align
	Unit        Unit // of a calendar window
	CountDenied bool
	HasQueue    bool // Queue is set
	HasWait     bool // MaxWait is set
	NextPays    bool // the cost of a request delays the next one
	Nested      bool // the fair share is divided among groups of keys, and each group's part among its keys

	// Count and Period mean L units per P µs. For a bucket, a pacer, a warm-up and a fair share they are divided by
	// their greatest common divisor. For a window and a log they describe the first window. For concurrency, Count is
	// the limit and Period the lease time.
	Count  int64
	Period int64
	// Burst is B: the number of units that an idle bucket, pacer or warm-up admits at once.
	Burst int64
	// Queue is the longest queue of a pacer, or the largest debt of a bucket, in units. For a bucket with NextPays it
	// is [Limit.Most].
	Queue int64
	// MaxWait is the longest delay, in µs, that a pacer returns.
	MaxWait int64
	// Weight applies to a limit that divides its units among keys: a key can get Weight times as much as a key of
	// weight 1.
	Weight int64
	// Block and MaxBlock are a penalty's first and longest block, and Forget is the time until it forgets a strike, in
	// µs.
	Block, MaxBlock, Forget int64
	// Min and Max are the slowest and the fastest rate of an adaptive rate, in units per period; StepTime is the
	// shortest time between two steps of the rate, and MaxPause the longest pause that a report can cause, in µs.
	// Failures is the percentage of failed requests beyond which the rate falls.
	Min, Max, StepTime, MaxPause, Failures int64
	// WarmUp is the time until a cold warm-up limit is warm, in µs, if it is used at its full rate.
	WarmUp int64
	// Segment is the length in µs of a sliding window's segments.
	Segment int64

	// Several contains all windows of a limit that has more than one window. It is a handle, so that Limit stays small
	// and comparable.
	Several unique.Handle[Windows]
	// Zone is the calendar's time zone. Equal names share one pointer, so limits stay comparable.
	Zone *time.Location
	// Anchor is the start of a calendar window.
	Anchor Anchor

	// Fields is the set of the limit's fields that are not at their default. Package engine computes it with the limit.
	Fields Fields
}

// Grid contains the parameters of a limit that determine its windows, segments or slots. They are part of the counter's
// name: another grid means another counter, which starts at zero, so counts are never converted from one grid to
// another. The Grid is zero for algorithms without such numbers.
type Grid struct {
	// Count and Period are the rate of a pacer, a warm-up, a fair share or a fair pacer, divided by their greatest
	// common divisor as in [Limit]. If only Period is set, it is the length in µs of a fixed window, of a sliding
	// window's segments, or of an adaptive rate's period.
	Count  int64
	Period int64
	// WarmUp is the warm-up time in µs.
	WarmUp int64
	// Align, Unit, Zone and Anchor determine where a fixed window begins.
	Align  Align
	Unit   Unit
	Zone   *time.Location
	Anchor Anchor
}

// Grid returns the limit's grid.
func (l *Limit) Grid() Grid {
	if grid := l.Algorithm.entry().grid; grid != nil {
		return grid(l)
	}
	return Grid{}
}

// Largest returns the largest cost that an unused limit admits without a delay or a debt.
func (l *Limit) Largest() int64 {
	if l.Algorithm.Constant() || l.Algorithm.Punishes() {
		return Never
	}
	if l.Algorithm.Refills() || l.Algorithm.Holds() {
		return l.Capacity()
	}
	return l.leastRoom(func(w Window) int64 { return w.Limit })
}

// CompareRates returns −1 if a's rate is below b's, 0 if they are equal, and 1 if it is above.
func CompareRates(a, b *Limit) int {
	switch {
	case a.rate().slowerThan(b.rate()):
		return -1
	case b.rate().slowerThan(a.rate()):
		return 1
	default:
		return 0
	}
}

// MostCharged returns the largest number of units that an unused limit admits at once, including its debt or queue. For
// several windows, it is the largest count.
func (l *Limit) MostCharged() int64 {
	if most := l.Algorithm.entry().mostCharged; most != nil {
		return most(l)
	}
	return l.Capacity()
}

// Prefetchable reports whether units can be charged before the requests that spend them. It is false for a limit with
// debt or counted denials, because only requests that reach the store can incur debt or be
// counted as denied.
func (l *Limit) Prefetchable() bool { return l.Fields.Within(ways[l.Algorithm].prefetchable) }

// WindowLeft returns how long, in µs, units charged at the given instant stay in the same window or segment. It
// returns Never if the limit's algorithm does not count units in fixed windows or in segments. The argument reset
// is [Outcome].Reset of the charge.
func (l *Limit) WindowLeft(at, reset int64) int64 {
	if left := l.Algorithm.entry().windowLeft; left != nil {
		return left(l, at, reset)
	}
	return Never
}

// WaitByReset returns the shortest time, in µs, until n units can pass, if [Outcome].Reset alone determines it.
// Otherwise it returns 0.
func (l *Limit) WaitByReset(n, reset int64) int64 {
	if wait := l.Algorithm.entry().waitByReset; wait != nil {
		return wait(l, n, reset)
	}
	return 0
}
