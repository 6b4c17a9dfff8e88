package algo

import "time"

// Unit is the calendar unit that one calendar window spans.
type Unit uint8

// The calendar units. Minutes and hours are spans of real time that start when the zone's
// clock shows a whole one. Days, weeks (from Monday), months and years last from midnight
// to midnight, so a day has 23 or 25 hours where the clock changes. Where it changes by
// half an hour, an hour is longer: see spanWindow.
const (
	NoUnit Unit = iota
	Minute
	Hour
	Day
	Week
	Month
	Year
)

// CalendarWindow returns the window [start, end) of the unit that contains now, in
// microseconds since 1970.
func CalendarWindow(unit Unit, zone *time.Location, now int64) (start, end int64) {
	t := time.UnixMicro(now).In(zone)
	if unit == Minute || unit == Hour {
		return spanWindow(unit, zone, now)
	}
	start, end = dateWindow(unit, t, 0)
	if now >= end {
		// The clock was set back across midnight, so yesterday's date shows again after
		// today's window has begun: today's window goes on.
		start, end = dateWindow(unit, t, 1)
	}
	return start, end
}

// dateWindow returns the window that is n units after the window of t's date.
func dateWindow(unit Unit, t time.Time, n int) (start, end int64) {
	zone := t.Location()
	year, month, day := t.Date()
	switch unit {
	case Week:
		day += 7*n - (int(t.Weekday())+6)%7
		return midnight(zone, year, month, day), midnight(zone, year, month, day+7)
	case Month:
		month += time.Month(n)
		return midnight(zone, year, month, 1), midnight(zone, year, month+1, 1)
	case Year:
		return midnight(zone, year+n, time.January, 1), midnight(zone, year+n+1, time.January, 1)
	default:
		day += n
		return midnight(zone, year, month, day), midnight(zone, year, month, day+1)
	}
}

// midnight returns the instant at which a date begins: the first of two midnights if the
// clock is set back over midnight, and the moment of the change if the clock skips
// midnight. (time.Date promises neither.)
func midnight(zone *time.Location, year int, month time.Month, day int) int64 {
	const farther = 36 * time.Hour // than any zone's offset from UTC plus a change of it
	utc := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	before := utc.Add(-farther).In(zone)
	for _, side := range [...]time.Time{before, utc.Add(farther).In(zone)} {
		_, offset := side.Zone()
		t := utc.Add(-time.Duration(offset) * time.Second).In(zone)
		if _, o := t.Zone(); o == offset {
			return t.UnixMicro()
		}
	}
	_, change := before.ZoneBounds()
	return change.UnixMicro()
}

// LongestWindow returns the length in µs of the longest window that a limit can have: of a
// calendar's day 25 hours, because clocks are set back.
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
