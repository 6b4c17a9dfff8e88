package envoy

import (
	"slices"
	"strings"
	"unsafe"
)

// wildcards finds the first pattern, in file order, that matches a string. A * matches any number of bytes, including
// none.
//
// Patterns are indexed by the strings before the first * and after the last one. Therefore the time of a lookup
// depends on the number of different lengths of these strings, and not on the number of patterns. Patterns that share
// both strings are tried in order.
type wildcards struct {
	count    int
	prefixes []int // the different lengths, sorted
	groups   map[string]*suffixes
}

// suffixes holds the patterns that have the same string before the first *.
type suffixes struct {
	first   int // lowest place of any pattern
	lengths []int
	ends    map[string][]pattern
}

// pattern is a pattern with its place in the file.
type pattern struct {
	place  int
	middle []string // the strings between the first * and the last one
	to     *descriptor
}

// add appends a pattern that contains a *.
func (w *wildcards) add(text string, to *descriptor) {
	parts := strings.Split(text, "*")
	begin, end := parts[0], parts[len(parts)-1]
	if w.groups == nil {
		w.groups = map[string]*suffixes{}
	}
	g := w.groups[begin]
	if g == nil {
		g = &suffixes{first: w.count, ends: map[string][]pattern{}}
		w.groups[begin] = g
		w.prefixes = insert(w.prefixes, len(begin))
	}
	g.lengths = insert(g.lengths, len(end))
	g.ends[end] = append(g.ends[end], pattern{place: w.count, middle: parts[1 : len(parts)-1], to: to})
	w.count++
}

// insert adds a length to a sorted list unless it is already there.
func insert(lengths []int, n int) []int {
	at, found := slices.BinarySearch(lengths, n)
	if found {
		return lengths
	}
	return slices.Insert(lengths, at, n)
}

// find returns the descriptor of the first matching pattern. It returns nil if none exists. It does not allocate.
func (w *wildcards) find(text []byte) *descriptor {
	var found *descriptor
	best := w.count
	for _, n := range w.prefixes {
		if n > len(text) {
			break
		}
		g := w.groups[string(text[:n])]
		if g == nil || g.first >= best {
			continue
		}
		rest := text[n:]
		for _, end := range g.lengths {
			if end > len(rest) {
				break
			}
			for _, p := range g.ends[string(rest[len(rest)-end:])] {
				if p.place >= best {
					break
				}
				if p.matches(rest[:len(rest)-end]) {
					found, best = p.to, p.place
					break
				}
			}
		}
	}
	return found
}

// matches reports whether text contains the middle strings in order.
func (p *pattern) matches(text []byte) bool {
	for _, part := range p.middle {
		at := indexOf(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}

// indexOf is like bytes.Index for a string, but does not copy it.
func indexOf(text []byte, part string) int {
	return strings.Index(unsafe.String(unsafe.SliceData(text), len(text)), part)
}
