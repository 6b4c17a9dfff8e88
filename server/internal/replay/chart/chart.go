// Package chart draws bars as SVG. It does not know what the numbers and texts represent.
package chart

import (
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/headgate/headgate/internal/format"
)

// Bar is a bar, or a cell in a heat map. Denied is the portion of Total that is drawn in another colour.
type Bar struct {
	Total, Denied int64
	// Title is the tooltip. Label is displayed below the bar.
	Title, Label string
	// Missing marks a cell without data in a heat map.
	Missing bool
}

// These constants are the width of a drawing and the sizes of its margins.
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
		d.title(title)
	}
	d.WriteString(`</rect>`)
}

// title adds a tooltip to the element being written.
func (d *drawing) title(text string) {
	fmt.Fprintf(d, `<title>%s</title>`, html.EscapeString(text))
}

func (d *drawing) text(class string, x, y float64, text string) {
	fmt.Fprintf(d, `<text class="%s" x="%.1f" y="%.1f">%s</text>`, class, x, y, html.EscapeString(text))
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(d, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

// svg returns the complete drawing as an SVG element. The argument about is its description for screen readers.
func (d *drawing) svg(about string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">%s</svg>`,
		wide, d.height, html.EscapeString(about), d.String())
}

// tick returns the distance between the grid lines of an axis from 0 to most: about four lines, at multiples of 1, 2 or
// 5 times a power of ten.
func tick(most int64) int64 {
	for step := int64(1); ; step *= 10 {
		for _, n := range []int64{1, 2, 5} {
			if most/(n*step) < 5 {
				return n * step
			}
		}
	}
}

// scale draws the horizontal grid lines for values from 0 to most, and returns the height of a value of 1 in pixels.
func (d *drawing) scale(most int64) float64 {
	height := float64(d.height - top - bottom)
	unit := height / float64(max(most, 1))
	step := tick(most)
	for n := int64(0); n <= most; n += step {
		y := top + height - float64(n)*unit
		d.line("grid", left, y, wide-right, y)
		d.text("end", left-8, y+4, Short(n))
	}
	return unit
}

// Short formats a number in a short form: 12k, 3M.
func Short(n int64) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n >= 10_000:
		return fmt.Sprintf("%dk", n/1000)
	default:
		return format.Grouped(n)
	}
}

// Stacked draws bars from left to right, with the denied part on top. about describes the drawing.
func Stacked(about string, bars []Bar) string {
	d := &drawing{height: 230}
	most := int64(1)
	for i := range bars {
		most = max(most, bars[i].Total)
	}
	unit := d.scale(most)
	base, width := float64(d.height-bottom), float64(wide-left-right)/float64(max(len(bars), 1))
	gap := 0.0
	if width > 3 {
		gap = 1
	}
	for i := range bars {
		b, x := &bars[i], left+float64(i)*width
		passed, denied := float64(b.Total-b.Denied)*unit, float64(b.Denied)*unit
		d.rect("passed", x, base-passed, width-gap, passed, b.Title)
		d.rect("denied", x, base-passed-denied, width-gap, denied, b.Title)
	}
	for i := range bars {
		if x := left + float64(i)*width; bars[i].Label != "" && x <= wide-right-70 {
			d.line("grid", x, base, x, base+4)
			d.text("start", x, float64(d.height)-8, bars[i].Label)
		}
	}
	return d.svg(about)
}

// Logarithmic draws bars on a logarithmic scale, so that 1 is visible next to a million.
func Logarithmic(about string, bars []Bar) string {
	d := &drawing{height: 200}
	most, digits := int64(1), 1
	for i := range bars {
		most = max(most, bars[i].Total)
	}
	for n := most; n >= 10; n /= 10 {
		digits++
	}
	height := float64(d.height - top - bottom)
	// The axis is logarithmic: one decade per digit, plus one so that a count of 1 is visible.
	unit := height / float64(digits)
	for n, at := int64(1), 0; at <= digits; n, at = n*10, at+1 {
		if y := top + height - (float64(at)+0.15)*unit; y >= top {
			d.line("grid", left, y, wide-right, y)
			d.text("end", left-8, y+4, Short(n))
		}
	}
	base, width := float64(d.height-bottom), min(90, float64(wide-left-right)/float64(max(len(bars), 1)))
	for i := range bars {
		b, x := &bars[i], left+float64(i)*width
		all := logHeight(b.Total, unit)
		d.rect("passed", x+3, base-all, width-6, all, b.Title)
		part := logHeight(b.Denied, unit)
		d.rect("denied", x+3, base-part, width-6, part, b.Title)
		d.text("middle", x+width/2, float64(d.height)-8, b.Label)
	}
	return d.svg(about)
}

// logHeight returns the height of a bar on a logarithmic scale.
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

// Row contains the cells of a table row from left to right.
type Row struct {
	Name  string
	Cells []Bar
}

// Heat draws rows of cells. The higher a cell's total, the darker the cell. The last row's labels are displayed below
// the columns.
func Heat(about string, rows []Row) string {
	const row = 22.0
	d := &drawing{height: top + len(rows)*int(row) + bottom}
	most := int64(1)
	for i := range rows {
		for _, c := range rows[i].Cells {
			most = max(most, c.Total)
		}
	}
	for i := range rows {
		y, cell := top+float64(i)*row, float64(wide-left-right)/float64(max(len(rows[i].Cells), 1))
		d.text("end", left-8, y+row/2+4, rows[i].Name)
		for at, c := range rows[i].Cells {
			x := left + float64(at)*cell
			if i == len(rows)-1 && c.Label != "" {
				d.text("start", x, float64(d.height)-8, c.Label)
			}
			if c.Missing {
				d.rect("missing", x+1, y+1, cell-2, row-2, c.Title)
				continue
			}
			d.rect("cell", x+1, y+1, cell-2, row-2, c.Title)
			fmt.Fprintf(d, `<rect class="hot" x="%.1f" y="%.1f" width="%.1f" height="%.1f" opacity="%.2f"><title>%s</title></rect>`,
				x+1, y+1, cell-2, row-2, float64(c.Total)/float64(most), html.EscapeString(c.Title))
			if c.Denied > 0 {
				d.rect("denied", x+1, y+row-4, (cell-2)*float64(c.Denied)/float64(c.Total), 3, c.Title)
			}
		}
	}
	return d.svg(about)
}
