package algo_test

import (
	"archive/zip"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/raced"
)

// zones returns one IANA zone from each group of equal zones.
func zones(t *testing.T) (found []*time.Location) {
	t.Helper()
	file, err := zip.OpenReader(filepath.Join(runtime.GOROOT(), "lib", "time", "zoneinfo.zip")) //nolint:staticcheck // the Go that runs the tests
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	seen := map[string]bool{}
	for _, f := range file.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			t.Fatal(err)
		}
		if seen[string(data)] {
			continue
		}
		seen[string(data)] = true
		zone, err := time.LoadLocationFromTZData(f.Name, data)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, zone)
	}
	if len(found) < 300 {
		t.Fatalf("only %d zones", len(found))
	}
	return found
}

// changes returns the instants from 1970 to 2040 when a zone's clock changes, and some instants in between.
func changes(zone *time.Location) (found []int64) {
	offset := func(at int64) int {
		_, seconds := time.Unix(at, 0).In(zone).Zone()
		return seconds
	}
	const step = 24 * 3600
	start, end := time.Date(1970, 1, 8, 0, 0, 0, 0, time.UTC).Unix(), time.Date(2041, 1, 8, 0, 0, 0, 0, time.UTC).Unix()
	for at := start; at < end; at += step {
		if at%(2000*step) == 0 {
			found = append(found, at*1e6)
		}
		if offset(at) == offset(at+step) {
			continue
		}
		low, high := at, at+step
		for high-low > 1 {
			if middle := (low + high) / 2; offset(middle) == offset(low) {
				low = middle
			} else {
				high = middle
			}
		}
		found = append(found, high*1e6)
	}
	return found
}

// In every zone (in a tenth of them with the race detector), around every change of the zone's clock, the windows of
// each unit are contiguous without overlap, and several instants of each window map to that window. A window of an hour
// or a minute is at least that long, and less than twice as long.
func TestCalendarWindowsTileTheTimeLine(t *testing.T) {
	lengths := map[algo.Unit]time.Duration{
		algo.Minute: time.Minute, algo.Hour: time.Hour, algo.Day: 24 * time.Hour, algo.Week: 7 * 24 * time.Hour,
		algo.Month: 31 * 24 * time.Hour, algo.Year: 366 * 24 * time.Hour,
	}
	anchored := algo.Anchor{Year: 2024, Month: 1, Day: 31, Hour: 2, Minute: 30}
	for z, zone := range zones(t) {
		if z%raced.Size(1, 10) > 0 {
			continue
		}
		for i, change := range changes(zone) {
			for unit, length := range lengths {
				tiles(t, zone, unit, algo.Anchor{}, length.Microseconds(), change)
				if i%4 == 0 {
					tiles(t, zone, unit, anchored, length.Microseconds(), change)
				}
			}
		}
	}
}

// TestAnchors checks that windows start on the anchor's day and time, or on the last day of a shorter month.
func TestAnchors(t *testing.T) {
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		unit             algo.Unit
		anchor, now      string
		start, end, next string
	}{
		{algo.Month, "2026-01-31", "2026-02-10T12:00", "2026-01-31T00:00", "2026-02-28T00:00", "2026-03-31T00:00"},
		{algo.Month, "2026-01-31", "2026-02-28T00:00", "2026-02-28T00:00", "2026-03-31T00:00", "2026-04-30T00:00"},
		{algo.Month, "2026-01-31T17:30", "2026-01-31T17:29", "2025-12-31T17:30", "2026-01-31T17:30", "2026-02-28T17:30"},
		{algo.Year, "2024-02-29", "2026-06-01T00:00", "2026-02-28T00:00", "2027-02-28T00:00", "2028-02-29T00:00"},
		{algo.Week, "2026-11-19", "2026-11-23T10:00", "2026-11-19T00:00", "2026-11-26T00:00", "2026-12-03T00:00"},
		{algo.Day, "2026-01-01T17:30", "2026-11-23T10:00", "2026-11-22T17:30", "2026-11-23T17:30", "2026-11-24T17:30"},
		{algo.Day, "2026-01-01T02:30", "2026-03-29T12:00", "2026-03-29T03:00", "2026-03-30T02:30", "2026-03-31T02:30"}, // 2:30 is skipped
	} {
		anchor, ok := algo.ParseAnchor(c.anchor)
		if !ok || anchor.String() != c.anchor {
			t.Fatalf("%s is read as %q", c.anchor, anchor)
		}
		at := func(text string) int64 {
			t.Helper()
			instant, err := time.ParseInLocation("2006-01-02T15:04", text, paris)
			if err != nil {
				t.Fatal(err)
			}
			return instant.UnixMicro()
		}
		limit := algo.Limit{Unit: c.unit, Zone: paris, Anchor: anchor}
		if start, end, next := limit.NextWindows(at(c.now)); start != at(c.start) || end != at(c.end) || next != at(c.next) {
			t.Errorf("%v: [%s, %s), %s", c, show(start), show(end), show(next))
		}
	}
	for _, bad := range []string{"", "2026", "2026-02-30", "2026-1-1", "2026-01-01T24:00", "2026-01-01T17:30:01", "0000-01-01", "31"} {
		if a, ok := algo.ParseAnchor(bad); ok {
			t.Errorf("%q is read as %s", bad, a)
		}
	}
}

// tiles checks that the windows around an instant are contiguous, and that their instants map to them.
func tiles(t *testing.T, zone *time.Location, unit algo.Unit, anchor algo.Anchor, length, around int64) {
	t.Helper()
	start, end := algo.CalendarWindow(unit, zone, anchor, around-2*length)
	for before := start - 1; start < around+2*length; {
		if _, to := algo.CalendarWindow(unit, zone, anchor, before); to != start {
			t.Errorf("%s, unit %d: the window before %s ends at %s", zone, unit, show(start), show(to))
		}
		for _, at := range []int64{start, start + 1, (start + end) / 2, around - 1, around, end - 1} {
			if at < start || at >= end {
				continue
			}
			if from, to := algo.CalendarWindow(unit, zone, anchor, at); from != start || to != end {
				t.Errorf("%s, unit %d: %s is in [%s, %s), and in [%s, %s)", zone, unit, show(at), show(start), show(end), show(from), show(to))
			}
		}
		if unit <= algo.Hour && (end-start < length || end-start >= 2*length) {
			t.Errorf("%s, unit %d: [%s, %s)", zone, unit, show(start), show(end))
		}
		if end <= start {
			t.Fatalf("%s, unit %d: [%s, %s)", zone, unit, show(start), show(end))
		}
		before = end - 1
		start, end = algo.CalendarWindow(unit, zone, anchor, end)
	}
}

func show(at int64) string { return time.UnixMicro(at).UTC().Format(time.RFC3339Nano) }
