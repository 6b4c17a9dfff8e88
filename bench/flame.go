package main

import (
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// These are the dimensions of the flame graph in pixels.
const (
	flameWidth  = 1200.0
	flameHeight = 17
	letterWidth = 6.5
)

// frame is a function and its callees in a flame graph.
type frame struct {
	name   string
	time   int64
	called map[string]*frame
}

// flames draws where the time in a profile was spent. A function's callees are above it, and widths are proportional to
// time.
func flames(title string, p *profile.Profile) string {
	root := &frame{name: title, called: map[string]*frame{}}
	for _, s := range p.Sample {
		at, time := root, s.Value[len(s.Value)-1]
		root.time += time
		for _, location := range slices.Backward(s.Location) {
			for _, line := range slices.Backward(location.Line) { // inlined functions come first
				at = at.into(line.Function.Name, time)
			}
		}
	}
	depth := root.depth()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" font-family="monospace" font-size="11">`, flameWidth, depth*flameHeight)
	root.draw(&b, 0, depth-1, root.time)
	return b.String() + "</svg>\n"
}

func (f *frame) into(name string, time int64) *frame {
	next := f.called[name]
	if next == nil {
		next = &frame{name: name, called: map[string]*frame{}}
		f.called[name] = next
	}
	next.time += time
	return next
}

func (f *frame) depth() int {
	deepest := 0
	for _, next := range f.called {
		deepest = max(deepest, next.depth())
	}
	return deepest + 1
}

// draw draws a frame at a position, with its callees above.
func (f *frame) draw(b *strings.Builder, from float64, row int, whole int64) {
	width := flameWidth * float64(f.time) / float64(max(1, whole))
	if width < 0.5 {
		return
	}
	name := f.name[strings.LastIndexByte(f.name, '/')+1:]
	hue := 0
	for _, c := range []byte(name[:strings.IndexByte(name+".", '.')]) {
		hue = (hue*31 + int(c)) % 360 // each package has its own colour
	}
	fmt.Fprintf(b, `<g><title>%s, %.1f %%</title><rect x="%.1f" y="%d" width="%.1f" height="%d" fill="hsl(%d,60%%,75%%)" stroke="white"/>`,
		html.EscapeString(f.name), 100*float64(f.time)/float64(max(1, whole)), from, row*flameHeight, width, flameHeight, hue)
	if letters := int(width/letterWidth) - 1; letters > 2 {
		fmt.Fprintf(b, `<text x="%.1f" y="%d">%s</text>`, from+3, row*flameHeight+12, html.EscapeString(name[:min(len(name), letters)]))
	}
	b.WriteString("</g>")
	for _, key := range slices.Sorted(maps.Keys(f.called)) {
		f.called[key].draw(b, from, row-1, whole)
		from += flameWidth * float64(f.called[key].time) / float64(max(1, whole))
	}
}
