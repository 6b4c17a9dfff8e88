package report

import (
	"fmt"
	"html"
	"math"
	"strings"
	"time"

	"github.com/headgate/headgate/server/replay/simulate"
)

// The size of a drawing, and the margins around what is drawn.
const (
	wide   = 960
	left   = 58
	right  = 12
	top    = 14
	bottom = 26
)

// drawing writes the elements of an SVG.
type drawing struct {
	strings.Builder

	height int
}

func (d *drawing) rect(class string, x, y, w, h float64, title string) {
	if h <= 0 || w <= 0 {
		return
	}
	fmt.Fprintf(d, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f">`, class, x, y, w, h)
	if title != "" {
		fmt.Fprintf(d, `<title>%s</title>`, html.EscapeString(title))
	}
	d.WriteString(`</rect>`)
}

func (d *drawing) text(class string, x, y float64, text string) {
	fmt.Fprintf(d, `<text class="%s" x="%.1f" y="%.1f">%s</text>`, class, x, y, html.EscapeString(text))
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(d, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

// svg closes the drawing. about says what it shows, for screen readers.
func (d *drawing) svg(about string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">%s</svg>`,
		wide, d.height, html.EscapeString(about), d.String())
}

// standalone adds the colours to a drawing that is a file of its own.
func standalone(svg string) string {
	return strings.Replace(svg, ">", "><style>"+colours+drawingStyle+"svg{background:var(--page);font-family:system-ui,sans-serif}</style>", 1)
}

// tick returns a step between the lines of a scale that goes up to most: about four lines
// at 1, 2 or 5 times a power of ten.
func tick(most int64) int64 {
	for step := int64(1); ; step *= 10 {
		for _, n := range []int64{1, 2, 5} {
			if most/(n*step) < 5 {
				return n * step
			}
		}
	}
}

// scale draws the horizontal lines with their numbers, and returns the height of one unit.
func (d *drawing) scale(most int64) float64 {
	height := float64(d.height - top - bottom)
	unit := height / float64(max(most, 1))
	step := tick(most)
	for n := int64(0); n <= most; n += step {
		y := top + height - float64(n)*unit
		d.line("grid", left, y, wide-right, y)
		d.text("end", left-8, y+4, short(n))
	}
	return unit
}

// short writes a number in few letters: 12k, 3M.
func short(n int64) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n >= 10_000:
		return fmt.Sprintf("%dk", n/1000)
	default:
		return grouped(n)
	}
}

// Traffic draws requests over time, those that are refused on top.
func Traffic(t *simulate.Traffic, zone *time.Location) string {
	d := &drawing{height: 230}
	most := int64(1)
	for _, s := range t.Slots {
		most = max(most, s.Passed+s.Refused)
	}
	unit := d.scale(most)
	base, width := float64(d.height-bottom), float64(wide-left-right)/float64(max(len(t.Slots), 1))
	gap := 0.0
	if width > 3 {
		gap = 1
	}
	for i, s := range t.Slots {
		x := left + float64(i)*width
		at := time.UnixMicro(t.Start + int64(i)*t.Width).In(zone)
		title := fmt.Sprintf("%s: %s, %s refused", at.Format("2006-01-02 15:04:05"), counted(s.Passed+s.Refused, "request"), grouped(s.Refused))
		passed, refused := float64(s.Passed)*unit, float64(s.Refused)*unit
		d.rect("passed", x, base-passed, width-gap, passed, title)
		d.rect("refused", x, base-passed-refused, width-gap, refused, title)
	}
	d.times(t, zone, width)
	return d.svg("Requests over time, in slots of " + span(t.Width))
}

// times writes some instants below the slots.
func (d *drawing) times(t *simulate.Traffic, zone *time.Location, width float64) {
	const labels = 6
	layout := "15:04:05"
	switch length := int64(len(t.Slots)) * t.Width; {
	case length > 3*86400*second:
		layout = "Jan 2"
	case length > 86400*second/2:
		layout = "Jan 2 15:04"
	case length > 3600*second:
		layout = "15:04"
	}
	step := max(1, len(t.Slots)/labels)
	for i := 0; i < len(t.Slots); i += step {
		x := left + float64(i)*width
		if x > wide-right-70 {
			return
		}
		d.line("grid", x, float64(d.height-bottom), x, float64(d.height-bottom)+4)
		d.text("start", x, float64(d.height)-8, time.UnixMicro(t.Start+int64(i)*t.Width).In(zone).Format(layout))
	}
}

const second = int64(time.Second / time.Microsecond)

// Histogram draws how many keys sent how many requests. The heights are logarithmic: one
// key is seen beside a million.
func Histogram(bars []simulate.Bar) string {
	d := &drawing{height: 200}
	most, digits := int64(1), 1
	for _, b := range bars {
		most = max(most, b.Keys)
	}
	for n := most; n >= 10; n /= 10 {
		digits++
	}
	height := float64(d.height - top - bottom)
	// One key has a height too: a decade for each digit and one below.
	unit := height / float64(digits)
	for n, at := int64(1), 0; at <= digits; n, at = n*10, at+1 {
		if y := top + height - (float64(at)+0.15)*unit; y >= top {
			d.line("grid", left, y, wide-right, y)
			d.text("end", left-8, y+4, short(n))
		}
	}
	base, width := float64(d.height-bottom), min(90, float64(wide-left-right)/float64(max(len(bars), 1)))
	for i, b := range bars {
		x := left + float64(i)*width
		name, label := grouped(b.From), power(b.From)
		if b.To > b.From {
			name += " to " + grouped(b.To)
		}
		title := fmt.Sprintf("%s requests: %s, %s refused something", name, counted(b.Keys, "key"), grouped(b.Refused))
		all := logHeight(b.Keys, unit)
		d.rect("passed", x+3, base-all, width-6, all, title)
		part := logHeight(b.Refused, unit)
		d.rect("refused", x+3, base-part, width-6, part, title)
		d.text("middle", x+width/2, float64(d.height)-8, label)
	}
	return d.svg("Keys by their number of requests")
}

// power writes a power of two in few letters, as the beginning of a bar: 512+, 4k+.
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

// logHeight returns the height of a bar in a logarithmic scale.
func logHeight(n int64, unit float64) float64 {
	if n <= 0 {
		return 0
	}
	at, power := 0.15, int64(1)
	for n >= power*10 {
		at, power = at+1, power*10
	}
	return (at + math.Log10(float64(n)/float64(power))) * unit
}

// Heat draws requests by weekday and hour.
func Heat(h *simulate.Heat) string {
	const cell, row = float64(wide-left-right) / 24, 22.0
	d := &drawing{height: top + 7*int(row) + bottom}
	most := int64(1)
	for i := range h.Cells {
		for _, c := range h.Cells[i] {
			most = max(most, c.Requests)
		}
	}
	for i, day := range []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"} {
		y := top + float64(i)*row
		d.text("end", left-8, y+row/2+4, day)
		for hour, c := range h.Cells[i] {
			x := left + float64(hour)*cell
			title := fmt.Sprintf("%s %02d:00: %s, %s refused", day, hour, counted(c.Requests, "request"), grouped(c.Refused))
			d.rect("cell", x+1, y+1, cell-2, row-2, title)
			fmt.Fprintf(d, `<rect class="hot" x="%.1f" y="%.1f" width="%.1f" height="%.1f" opacity="%.2f"><title>%s</title></rect>`,
				x+1, y+1, cell-2, row-2, float64(c.Requests)/float64(most), html.EscapeString(title))
			if c.Refused > 0 {
				d.rect("refused", x+1, y+row-4, (cell-2)*float64(c.Refused)/float64(c.Requests), 3, title)
			}
		}
	}
	for hour := 0; hour < 24; hour += 3 {
		d.text("start", left+float64(hour)*cell, float64(d.height)-8, fmt.Sprintf("%02d:00", hour))
	}
	return d.svg("Requests by weekday and hour, in " + h.Zone)
}
