package algo

import "time"

// Anchor is the start of one calendar window on the clock of the limit's time zone. All other windows start at the same
// time of day, and on the same weekday, day of the month or day of the year. In a month without that day, such as April
// for the 31st, the window starts on the last day. The zero value means no anchor.
type Anchor struct {
	Year                     int16
	Month, Day, Hour, Minute uint8
}

// calendarAnchor is used for a limit without an anchor: January 1, a Monday, at midnight.
var calendarAnchor = Anchor{Year: 2001, Month: 1, Day: 1}

const (
	anchorDate = "2006-01-02"
	anchorTime = "2006-01-02T15:04"
)

// ParseAnchor parses a date of the years 1 to 9999, or a date with a time, such as 2026-01-31T17:30.
func ParseAnchor(text string) (a Anchor, ok bool) {
	layout := anchorDate
	if len(text) > len(anchorDate) {
		layout = anchorTime
	}
	t, err := time.Parse(layout, text)
	if err != nil || t.Year() < 1 {
		return a, false
	}
	return Anchor{int16(t.Year()), uint8(t.Month()), uint8(t.Day()), uint8(t.Hour()), uint8(t.Minute())}, true
}

// String returns the anchor in the form that ParseAnchor reads. It returns "" for the zero value.
func (a Anchor) String() string {
	if a == (Anchor{}) {
		return ""
	}
	layout := anchorDate
	if a.Hour > 0 || a.Minute > 0 {
		layout = anchorTime
	}
	return a.clock().Format(layout)
}

// clock returns the anchor's date and time, read as UTC.
func (a Anchor) clock() time.Time {
	return time.Date(int(a.Year), time.Month(a.Month), int(a.Day), int(a.Hour), int(a.Minute), 0, 0, time.UTC)
}

// start returns the start of a window, n units after a reference window. The reference window starts on t's date
// (days), on the last anchor weekday up to t's date (weeks), or on the anchor's day in t's month or year, even if that
// is after t.
func (a Anchor) start(unit Unit, t time.Time, n int) int64 {
	year, month, day := t.Date()
	switch unit {
	case Week:
		day += 7*n - (int(t.Weekday())-int(a.clock().Weekday())+7)%7
	case Month:
		year, month, day = a.dayOf(year, month+time.Month(n))
	case Year:
		year, month, day = a.dayOf(year+n, time.Month(a.Month))
	default:
		day += n
	}
	return a.shows(t.Location(), year, month, day)
}

// dayOf returns the anchor's day in a month, or the month's last day if the month is too short.
func (a Anchor) dayOf(year int, month time.Month) (y int, m time.Month, day int) {
	last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC)
	return last.Year(), last.Month(), min(int(a.Day), last.Day())
}

// shows returns the instant when a zone's clock shows the anchor's time on a date. If the clock shows it twice, shows
// returns the first instant. If a clock change skips it, shows returns the instant of the change. (time.Date guarantees
// neither.)
func (a Anchor) shows(zone *time.Location, year int, month time.Month, day int) int64 {
	const farther = 36 * time.Hour // more than any zone's offset from UTC plus a clock change
	utc := time.Date(year, month, day, int(a.Hour), int(a.Minute), 0, 0, time.UTC)
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
