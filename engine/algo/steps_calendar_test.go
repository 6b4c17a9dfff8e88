package algo_test

import (
	"testing"
	"time"
	_ "time/tzdata" // for systems without zone files

	"github.com/headgate/headgate/engine/algo"
)

// The table contains dates that occur twice, and midnights that occur twice or never. A window has exactly one start
// and one end (section 4).
func TestCalendarSteps(t *testing.T) {
	for _, c := range []struct {
		zone            string
		unit            algo.Unit
		now, start, end string
	}{
		// 2009-11-01, 00:01 in Newfoundland: the clock goes back to 23:01 on October 31.
		{"America/St_Johns", algo.Day, "2009-11-01T02:29:59Z", "2009-10-31T02:30:00Z", "2009-11-01T02:30:00Z"},
		{"America/St_Johns", algo.Day, "2009-11-01T02:30:00Z", "2009-11-01T02:30:00Z", "2009-11-02T03:30:00Z"},
		{"America/St_Johns", algo.Day, "2009-11-01T03:00:00Z", "2009-11-01T02:30:00Z", "2009-11-02T03:30:00Z"},
		{"America/St_Johns", algo.Month, "2009-11-01T03:00:00Z", "2009-11-01T02:30:00Z", "2009-12-01T03:30:00Z"},
		{"America/St_Johns", algo.Year, "2009-11-01T03:00:00Z", "2009-01-01T03:30:00Z", "2010-01-01T03:30:00Z"},
		// 2020-11-01, 01:00 in Havana: the clock goes back to midnight of the same day.
		{"America/Havana", algo.Day, "2020-11-01T05:30:00Z", "2020-11-01T04:00:00Z", "2020-11-02T05:00:00Z"},
		// 2018-11-04 in São Paulo has no midnight: it begins at 01:00.
		{"America/Sao_Paulo", algo.Day, "2018-11-04T03:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
		// Lord Howe, 2023-10-01: at 02:00 the clock jumps to 02:30. The hour lasts 90 minutes, without a separate
		// window of 30 minutes (regression: bug 47).
		{"Australia/Lord_Howe", algo.Hour, "2023-09-30T15:29:59Z", "2023-09-30T14:30:00Z", "2023-09-30T16:00:00Z"},
		{"Australia/Lord_Howe", algo.Hour, "2023-09-30T15:30:00Z", "2023-09-30T14:30:00Z", "2023-09-30T16:00:00Z"},
		{"Australia/Lord_Howe", algo.Hour, "2023-09-30T16:00:00Z", "2023-09-30T16:00:00Z", "2023-09-30T17:00:00Z"},
		// 2024-04-07: at 02:00 the clock goes back to 01:30.
		{"Australia/Lord_Howe", algo.Hour, "2024-04-06T15:00:00Z", "2024-04-06T14:00:00Z", "2024-04-06T15:30:00Z"},
		// At 00:15 on 1986-01-01, the clock in Kathmandu jumps to 00:30: the hour lasts until 02:00.
		{"Asia/Kathmandu", algo.Hour, "1985-12-31T18:29:00Z", "1985-12-31T17:30:00Z", "1985-12-31T19:15:00Z"},
		// 1972-01-07 in Monrovia: 44 min 30 s are skipped at midnight.
		{"Africa/Monrovia", algo.Hour, "1972-01-07T00:44:30Z", "1972-01-06T23:44:30Z", "1972-01-07T01:00:00Z"},
		{"Africa/Monrovia", algo.Minute, "1972-01-07T00:44:30Z", "1972-01-07T00:43:30Z", "1972-01-07T00:45:00Z"},
		// A change by a whole hour does not affect hours.
		{"Europe/Berlin", algo.Hour, "2024-10-27T01:00:00Z", "2024-10-27T01:00:00Z", "2024-10-27T02:00:00Z"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		from, to := algo.CalendarWindow(c.unit, zone, algo.Anchor{}, now.UnixMicro())
		start, end := time.UnixMicro(from).UTC().Format(time.RFC3339), time.UnixMicro(to).UTC().Format(time.RFC3339)
		if start != c.start || end != c.end {
			t.Errorf("%s in %s, unit %d: [%s, %s), want [%s, %s)", c.now, c.zone, c.unit, start, end, c.start, c.end)
		}
	}
}
