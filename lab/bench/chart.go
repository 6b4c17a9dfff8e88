package main

import (
	"fmt"
	"html"
	"os"
	"strings"
)

// These are the dimensions of the chart in pixels.
const (
	chartWidth = 860
	nameWidth  = 260
	barHeight  = 16
	barGap     = 4
	groupGap   = 34
)

// chart writes an SVG file with each table drawn as bars. A table's longest bar takes up the whole width.
func chart(path string, tables []table) error {
	var b strings.Builder
	y := 10
	for i := range tables {
		y = tables[i].draw(&b, y)
	}
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12"><rect width="100%%" height="100%%" fill="white"/>`, chartWidth, y)
	return os.WriteFile(path, []byte(head+b.String()+"</svg>\n"), 0o644)
}

func (t *table) draw(b *strings.Builder, y int) int {
	better := "more is better"
	if t.lower {
		better = "less is better"
	}
	longest := 0.0
	for _, l := range t.lines {
		longest = max(longest, l.value)
	}
	fmt.Fprintf(b, `<text x="10" y="%d" font-weight="bold">%s: %s (%s)</text>`, y+14, html.EscapeString(t.title), html.EscapeString(t.unit), better)
	y += 22
	for _, l := range t.lines {
		color := "#9aa5b1"
		if l.ours {
			color = "#1769aa"
		}
		width := int(l.value / longest * (chartWidth - nameWidth - 80))
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, nameWidth-8, y+12, html.EscapeString(l.name))
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`, nameWidth, y, max(1, width), barHeight, color)
		fmt.Fprintf(b, `<text x="%d" y="%d">%s</text>`, nameWidth+width+6, y+12, number(l.value))
		y += barHeight + barGap
	}
	return y + groupGap - barGap
}
