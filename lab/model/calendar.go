package model

import (
	"time"
	_ "time/tzdata" // time zones must not depend on the machine
)

// calendarWindow returns the calendar window, in an IANA zone, that contains an instant (section 4). Limits with an
// unknown zone are rejected when they are built, so an unknown zone only falls back to UTC here.
func calendarWindow(unit, zone, anchor string, now int64) (start, end int64) {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		loc = time.UTC
	}
	t := time.UnixMicro(now).In(loc)
	switch unit {
	case "1m":
		return spanOfTime(t, time.Minute)
	case "1h":
		return spanOfTime(t, time.Hour)
	}
	return dateWindow(t, unit, anchorOf(anchor))
}

// anchorOf returns the local time, read as UTC, when one window starts. The default is a Monday that is the first day
// of a year.
func anchorOf(text string) time.Time {
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	return time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
}

// spanOfTime returns a window of elapsed time. It starts when the zone's clock shows a multiple of the length (in
// Kolkata, hours begin at half past in UTC), and ends at the first such instant at least one length later. If the clock
// changes by a fraction of the length, the window is longer.
func spanOfTime(t time.Time, length time.Duration) (start, end int64) {
	// quiet is an instant well before t, with no clock change in the three lengths before it.
	quiet := t
	for offsetOf(quiet) != offsetOf(quiet.Add(-3*length)) {
		quiet = quiet.Add(-length)
	}
	from := quiet.Add(-sinceWhole(quiet, length))
	for {
		to := wholeFrom(from.Add(length), length)
		if to.After(t) {
			return from.UnixMicro(), to.UnixMicro()
		}
		from = to
	}
}

func offsetOf(t time.Time) int {
	_, offset := t.Zone()
	return offset
}

// sinceWhole returns how far the zone's clock is past the last multiple of the length.
func sinceWhole(t time.Time, length time.Duration) time.Duration {
	shown := t.UnixMicro() + int64(offsetOf(t))*1e6
	return time.Duration(shown-floorTo(shown, length.Microseconds())) * time.Microsecond
}

// wholeFrom returns the first instant, not before t, when the zone's clock shows a multiple of the length. A clock
// change may skip a multiple, or land exactly on one.
func wholeFrom(t time.Time, length time.Duration) time.Time {
	for sinceWhole(t, length) != 0 {
		at := t.Add(length - sinceWhole(t, length))
		if _, until := t.ZoneBounds(); until.After(t) && until.Before(at) {
			at = until
		}
		t = at
	}
	return t
}

// dateWindow returns the window between two neighbouring starts near t.
func dateWindow(t time.Time, unit string, anchor time.Time) (start, end int64) {
	for n := -2; ; n++ {
		at := firstInstant(startOf(t, unit, n, anchor), t.Location()).UnixMicro()
		if at > t.UnixMicro() {
			return start, at
		}
		start = at
	}
}

// startOf returns the local time, read as UTC, when a window starts: the n-th window after the window that starts near
// t's date.
func startOf(t time.Time, unit string, n int, anchor time.Time) time.Time {
	y, m, d := t.Date()
	switch unit {
	case "1w":
		for d += 7 * n; time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Weekday() != anchor.Weekday(); d-- {
		}
	case "1mo":
		y, m, d = lastUpTo(y, m+time.Month(n), anchor.Day())
	case "1y":
		y, m, d = lastUpTo(y+n, anchor.Month(), anchor.Day())
	default:
		d += n
	}
	return time.Date(y, m, d, anchor.Hour(), anchor.Minute(), 0, 0, time.UTC)
}

// lastUpTo returns the given day of a month, or the month's last day if that is earlier.
func lastUpTo(y int, m time.Month, day int) (year int, month time.Month, d int) {
	first := time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
	for d = day; first.AddDate(0, 0, d-1).Month() != first.Month(); d-- {
	}
	return first.Year(), first.Month(), d
}

// firstInstant returns the first instant when the zone's local time is wall or later. A midnight may be skipped,
// or occur twice.
func firstInstant(wall time.Time, loc *time.Location) time.Time {
	t := wall.Add(-48 * time.Hour).In(loc) // no zone is two days away from UTC
	for {
		_, offset := t.Zone()
		at := wall.Add(-time.Duration(offset) * time.Second).In(loc)
		if at.Before(t) {
			at = t // a clock change skipped the local time
		}
		_, until := t.ZoneBounds()
		if !until.IsZero() && !until.After(t) {
			// After the end of a zone's table, ZoneBounds ends leap years a day early, so that on the last day the end
			// is before t. No offset changes on that day.
			until = t.Add(24 * time.Hour)
		}
		if until.IsZero() || at.Before(until) {
			return at
		}
		t = until
	}
}
