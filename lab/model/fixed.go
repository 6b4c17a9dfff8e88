package model

import (
	"errors"
	"fmt"
	"time"
)

// FixedWindow is the name of the algorithm.
const FixedWindow = "fixed-window"

var _ = register(algorithm{
	names:  []string{FixedWindow},
	check:  Limit.checkFixed,
	absent: func(l Limit, now int64) view { return newFixed(l, now) },
	grid: func(l Limit) string {
		return fmt.Sprint(l.WindowUS, l.Calendar, l.Align == "clock", zoneOf(l), l.Anchor)
	},
})

// FixedFields are the fields of fixed windows. Align is "first", "clock" or an IANA zone. A zone requires Calendar: 1m, 1h,
// 1d, 1w, 1mo or 1y. It can have an Anchor, such as 2026-01-31T17:30.
type FixedFields struct {
	Align    string `json:"align,omitempty"`
	Calendar string `json:"calendar,omitempty"`
	Anchor   string `json:"anchor,omitempty"`
}

// fixed is the state of a fixed window (section 4): a count and the window's end. A count of 0 is the same as no state
// (rule 7). A window that starts with its first request therefore starts again after all units have been given back.
type fixed struct {
	limit Limit
	now   int64
	count int64
	end   int64
}

func newFixed(l Limit, now int64) *fixed {
	_, end := l.window(now)
	return &fixed{limit: l, now: now, end: end}
}

// window returns the start and the end of the window that a request at now starts if there is no state.
func (l Limit) window(now int64) (start, end int64) {
	switch {
	case l.Calendar != "":
		return calendarWindow(l.Calendar, l.Align, l.Anchor, now)
	case l.Align == "clock":
		start = floorTo(now, l.WindowUS)
		return start, start + l.WindowUS
	}
	return now, now + l.WindowUS
}

// floorTo returns ⌊t/step⌋·step, also for times before 1970.
func floorTo(t, step int64) int64 { return t - ((t%step)+step)%step }

func (f *fixed) at(l Limit, now int64) view {
	v := newFixed(l, now)
	if f.gone() || now >= f.end {
		return v
	}
	v.count = f.count
	if !f.far(l, now) {
		v.end = f.end
	}
	return v
}

// far reports whether the clock was set back by more than the window's length (rule 8). A calendar window stores only
// its end, so the clock counts as far back unless the stored end is the end of the current window or of the next one.
// Comparing lengths would not be enough: March would be far from February, which is shorter.
func (f *fixed) far(l Limit, now int64) bool {
	if l.Calendar == "" {
		return f.end-l.WindowUS-now > l.WindowUS
	}
	_, end := l.window(now)
	_, next := l.window(end)
	return f.end > next
}

func (f *fixed) moved(l Limit, now int64) (view, bool) {
	if f.gone() || !f.far(l, now) {
		return f, false
	}
	return f.at(l, now), true
}

func (f *fixed) gone() bool { return f.count == 0 }

func (f *fixed) admits(c int64) bool { return c <= f.limit.Limit-f.count }

func (f *fixed) rows(c int64) []row {
	r := row{limit: f.limit.Limit, remaining: f.most()}
	if f.count > 0 {
		r.reset = f.end - f.now
	}
	switch {
	case c > f.limit.Limit:
		r.wait = never
	case c > 0 && !f.admits(c):
		r.wait = f.end - f.now
	}
	return []row{r}
}

func (f *fixed) most() int64 { return max(0, f.limit.Limit-f.count) }

func (f *fixed) delay(int64) int64 { return 0 }

func (f *fixed) spend(c int64) { f.count += c }

func (f *fixed) deny(c, _ int64) { f.count = max(f.count, min(f.limit.Limit, f.count+c)) }

func (f *fixed) give(n int64) { f.count = max(0, f.count-n) }

func (l Limit) checkFixed() error {
	if l.Calendar == "" {
		return l.checkWindows(MaxUnits)
	}
	_, err := time.LoadLocation(l.Align)
	switch l.Calendar {
	case "1m", "1h", "1d", "1w", "1mo", "1y":
	default:
		err = fmt.Errorf("model: no calendar window %q", l.Calendar)
	}
	return errors.Join(err, within("limit", l.Limit, 1, MaxUnits))
}

func zoneOf(l Limit) string {
	if l.Calendar == "" {
		return ""
	}
	return l.Align
}
