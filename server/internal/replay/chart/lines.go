package chart

import (
	"fmt"
	"strings"
)

// Line is a named curve. Its values are evenly spaced over time.
type Line struct {
	Name   string
	Values []float64
}

// Colors is the number of CSS classes c0, c1, … that the curves use in turn.
const Colors = 11

// Lines draws curves from left to right over the same time span. The argument most is the top of the vertical axis,
// and higher values are drawn at the upper edge. The labels are displayed below, spaced evenly from the left edge to
// the right edge.
func Lines(about string, lines []Line, most int64, labels []string) string {
	d := &drawing{height: 230}
	unit := d.scale(most)
	base, width := float64(d.height-bottom), float64(wide-left-right)
	for i := range lines {
		d.curve(&lines[i], i, base, unit, width, float64(most))
	}
	for i, label := range labels {
		class, x := "middle", left+width*float64(i)/float64(max(len(labels)-1, 1))
		switch i {
		case 0:
			class = "start"
		case len(labels) - 1:
			class = "end"
		}
		d.text(class, x, float64(d.height)-8, label)
	}
	return d.svg(about)
}

// curve draws one line.
func (d *drawing) curve(l *Line, place int, base, unit, width, most float64) {
	if len(l.Values) == 0 {
		return
	}
	var points strings.Builder
	for i, v := range l.Values {
		x := left + width*float64(i)/float64(max(len(l.Values)-1, 1))
		fmt.Fprintf(&points, "%.0f,%.1f ", x, base-min(max(v, 0), most)*unit)
	}
	fmt.Fprintf(d, `<polyline class="curve c%d" points="%s">`, place%Colors, strings.TrimSpace(points.String()))
	d.title(l.Name)
	d.WriteString(`</polyline>`)
}
