package drawings

import "strings"

// panel is a named row of bars in a drawing by drawPanels.
type panel struct {
	Name string
	Bars []Bar
}

// drawPanels draws rows of bars, one below the other with the same scale, and with the denied part on top. The last row's
// labels are displayed below all rows.
func drawPanels(about string, panels []panel) string {
	const row, head = 92.0, 24.0
	d := &drawing{height: len(panels)*int(row) + bottom}
	most := int64(1)
	for i := range panels {
		for _, b := range panels[i].Bars {
			most = max(most, b.Total)
		}
	}
	unit := (row - head) / float64(most)
	for i := range panels {
		p := &panels[i]
		base, width := float64(i+1)*row, float64(wide-left-right)/float64(max(len(p.Bars), 1))
		d.text("start", left, base-row+head-6, p.Name)
		for _, n := range []int64{0, most} {
			d.line("grid", left, base-float64(n)*unit, wide-right, base-float64(n)*unit)
			d.text("end", left-8, base-float64(n)*unit+4, Short(n))
		}
		for at, b := range p.Bars {
			x, passed, denied := left+float64(at)*width, float64(b.Total-b.Denied)*unit, float64(b.Denied)*unit
			d.rect("passed", x, base-passed, width-1, passed, b.Title)
			d.rect("denied", x, base-passed-denied, width-1, denied, b.Title)
			if i == len(panels)-1 && b.Label != "" {
				d.line("grid", x, base, x, base+4)
				d.text("start", x, base+18, b.Label)
			}
		}
	}
	return d.svg(about)
}

// standalone returns the drawing with its style sheet included, so that it can be a separate file.
func standalone(svg string) string {
	return strings.Replace(svg, ">", "><style>"+style+"svg{background:var(--page);font-family:system-ui,sans-serif}</style>", 1)
}
