package algo

import "time"

// Unit is the length of a calendar window.
type Unit uint8

// The calendar units. Minutes and hours are spans of real time that start when the zone's clock shows a whole minute or
// hour. Days, weeks (from Monday), months and years last from midnight to midnight, so a day with a clock change has 23
// or 25 hours. An hour with a clock change of half an hour is longer: see spanWindow.
const (
	NoUnit Unit = iota
	Minute
	Hour
	Day
	Week
	Month
	Year
)

// CalendarWindow returns the window [start, end) of the unit that contains now, in microseconds since 1970. If anchor
// is zero, the calendar's usual starts apply.
func CalendarWindow(unit Unit, zone *time.Location, anchor Anchor, now int64) (start, end int64) {
	if unit == Minute || unit == Hour {
		return spanWindow(unit, zone, now)
	}
	if anchor == (Anchor{}) {
		anchor = calendarAnchor
	}
	t, n := time.UnixMicro(now).In(zone), 0
	for start = anchor.start(unit, t, n); now < start; n-- {
		start = anchor.start(unit, t, n-1)
	}
	// If the clock is set back across midnight, yesterday's date shows again after today's window has begun; in that
	// case today's window continues.
	for end = anchor.start(unit, t, n+1); now >= end; n++ {
		start, end = end, anchor.start(unit, t, n+2)
	}
	return start, end
}

func (l *Limit) calendarWindow(now int64) (start, end int64) {
	return CalendarWindow(l.Unit, l.Zone, l.Anchor, now)
}

// NextWindows returns the calendar window that contains now, and the end of the window after it.
func (l *Limit) NextWindows(now int64) (start, end, next int64) {
	start, end = l.calendarWindow(now)
	_, next = l.calendarWindow(end)
	return start, end, next
}

// LongestWindow returns the length of the limit's longest possible window, in µs. A calendar day can last 25 hours,
// because clocks are set back.
func (l *Limit) LongestWindow() int64 {
	length := l.Longest()
	const day = 24 * time.Hour
	switch l.Unit {
	case Day:
		length = (day + time.Hour).Microseconds()
	case Week:
		length = (7*day + time.Hour).Microseconds()
	case Month:
		length = (31*day + time.Hour).Microseconds()
	case Year:
		length = (366*day + time.Hour).Microseconds()
	}
	return length
}
