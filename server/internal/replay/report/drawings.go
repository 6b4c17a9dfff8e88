package report

import (
	"fmt"
	"time"

	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/server/internal/replay/chart"
	"github.com/headgate/headgate/server/internal/replay/simulate"
)

// Traffic draws the number of requests over time, with the denied ones on top.
func Traffic(t *simulate.Traffic, zone *time.Location) string {
	bars := make([]chart.Bar, len(t.Slots))
	layout, step := layoutOf(int64(len(t.Slots))*t.Width), max(1, len(t.Slots)/6)
	for i, s := range t.Slots {
		at := time.UnixMicro(t.Start + int64(i)*t.Width).In(zone)
		bars[i] = chart.Bar{
			Total: s.Passed + s.Denied, Denied: s.Denied,
			Title: fmt.Sprintf("%s: %s, %s denied", at.Format("2006-01-02 15:04:05"), format.Counted(s.Passed+s.Denied, "request"), format.Grouped(s.Denied)),
		}
		if i%step == 0 {
			bars[i].Label = at.Format(layout)
		}
	}
	return chart.Stacked("Requests over time, in slots of "+span(t.Width), bars)
}

// layoutOf returns the time format of the labels for a time span in µs.
func layoutOf(length int64) string {
	const second = int64(time.Second / time.Microsecond)
	switch {
	case length > 3*86400*second:
		return "Jan 2"
	case length > 86400*second/2:
		return "Jan 2 15:04"
	case length > 3600*second:
		return "15:04"
	default:
		return "15:04:05"
	}
}

// Histogram draws the number of keys in each range of requests per key, on a logarithmic scale.
func Histogram(counts []simulate.Bar) string {
	bars := make([]chart.Bar, len(counts))
	for i, b := range counts {
		name := format.Grouped(b.From)
		if b.To > b.From {
			name += " to " + format.Grouped(b.To)
		}
		bars[i] = chart.Bar{
			Total: b.Keys, Denied: b.Denied, Label: power(b.From),
			Title: fmt.Sprintf("%s requests: %s, %s denied something", name, format.Counted(b.Keys, "key"), format.Grouped(b.Denied)),
		}
	}
	return chart.Logarithmic("Keys by their number of requests", bars)
}

// power formats a power of two as the lower bound of a bar, in a short form such as 512+ or 4k+.
func power(n int64) string {
	switch {
	case n == 1:
		return "1"
	case n >= 1<<20:
		return fmt.Sprintf("%dM+", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%dk+", n>>10)
	default:
		return fmt.Sprintf("%d+", n)
	}
}

// Heat draws the number of requests by weekday and hour. Hours outside the log are blank.
func Heat(h *simulate.Heat) string {
	rows, covered := make([]chart.Row, len(h.Cells)), h.Covered()
	for i, day := range []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"} {
		rows[i].Name = day
		for hour, c := range h.Cells[i] {
			b := chart.Bar{
				Total: c.Requests, Denied: c.Denied,
				Title: fmt.Sprintf("%s %02d:00: %s, %s denied", day, hour, format.Counted(c.Requests, "request"), format.Grouped(c.Denied)),
			}
			if b.Missing = !covered[i][hour]; b.Missing {
				b.Title = fmt.Sprintf("%s %02d:00: not in the log", day, hour)
			}
			if hour%3 == 0 {
				b.Label = fmt.Sprintf("%02d:00", hour)
			}
			rows[i].Cells = append(rows[i].Cells, b)
		}
	}
	return chart.Heat("Requests by weekday and hour, in "+h.Zone, rows)
}
