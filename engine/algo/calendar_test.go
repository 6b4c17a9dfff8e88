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
)

// zones returns every IANA zone, one for each set of equal ones.
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

// changes returns the instants from 1970 to 2040 at which a zone's clock changes, and
// some between.
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

// In every zone, around every change of its clock, the windows of each unit follow one
// another without gap and overlap, and all instants of a window have the same window. A
// window of an hour or a minute is at least that long, and shorter than twice that.
func TestCalendarWindowsTileTheTimeLine(t *testing.T) {
	lengths := map[algo.Unit]time.Duration{
		algo.Minute: time.Minute, algo.Hour: time.Hour, algo.Day: 24 * time.Hour, algo.Week: 7 * 24 * time.Hour,
		algo.Month: 31 * 24 * time.Hour, algo.Year: 366 * 24 * time.Hour,
	}
	for _, zone := range zones(t) {
		for _, change := range changes(zone) {
			for unit, length := range lengths {
				tiles(t, zone, unit, length.Microseconds(), change)
			}
		}
	}
}

// tiles checks the windows around an instant.
func tiles(t *testing.T, zone *time.Location, unit algo.Unit, length, around int64) {
	t.Helper()
	start, end := algo.CalendarWindow(unit, zone, around-2*length)
	for before := start - 1; start < around+2*length; {
		if _, to := algo.CalendarWindow(unit, zone, before); to != start {
			t.Errorf("%s, unit %d: the window before %s ends at %s", zone, unit, show(start), show(to))
		}
		for _, at := range []int64{start, start + 1, (start + end) / 2, around - 1, around, end - 1} {
			if at < start || at >= end {
				continue
			}
			if from, to := algo.CalendarWindow(unit, zone, at); from != start || to != end {
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
		start, end = algo.CalendarWindow(unit, zone, end)
	}
}

func show(at int64) string { return time.UnixMicro(at).UTC().Format(time.RFC3339Nano) }
