// Package drawings draws what limits decide, for the pages on concepts. Its tests compare the drawings in docs/images
// with the decisions of the library.
//
//	chart.go  bars as SVG
//	style.go  colours in light and dark mode
package drawings

import (
	"fmt"
	"html"
	"strings"

	"github.com/headgate/headgate/internal/format"
)

// Bar is a bar. Denied is the portion of Total that is drawn in another colour.
type Bar struct {
	Total, Denied int64
	// Title is the tooltip. Label is displayed below the bar.
	Title, Label string
}

// These constants are the width of a drawing and the sizes of its margins.
const (
	wide   = 960
	left   = 58
	right  = 12
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
