package simulate

import (
	"cmp"
	"slices"
	"strings"
)

// The bounds of patterns.
const (
	maxPatterns    = 1 << 16
	patternsPerKey = 6
	maxPatternText = 120
)

// Patterns numbers texts, such as the patterns of requests: a method and a path without its ids.
type Patterns struct {
	numbers map[string]int32
	names   []string
}

// otherPattern stands for patterns beyond maxPatterns.
const otherPattern = 0

// NewPatterns returns a numbering without a text.
func NewPatterns() Patterns {
	return Patterns{numbers: map[string]int32{}, names: []string{"other paths"}}
}

// Of returns the number of the pattern of a request.
func (p *Patterns) Of(method, path string) int32 { return p.Number(pattern(method, path)) }

// Number returns the number of a text. Texts beyond 65536 have one number.
func (p *Patterns) Number(name string) int32 {
	if n, ok := p.numbers[name]; ok {
		return n
	}
	if len(p.names) >= maxPatterns {
		return otherPattern
	}
	n := int32(len(p.names))
	name = strings.Clone(name)
	p.numbers[name] = n
	p.names = append(p.names, name)
	return n
}

// pattern returns the method and the path with {} in the place of segments that look like
// ids: numbers, hashes and the like.
func pattern(method, path string) string {
	var b strings.Builder
	b.WriteString(method)
	b.WriteByte(' ')
	for i, segment := range strings.SplitN(path, "/", 12) {
		if i > 0 {
			b.WriteByte('/')
		}
		if looksLikeID(segment) {
			segment = "{}"
		}
		b.WriteString(segment)
		if b.Len() > maxPatternText {
			return strings.ToValidUTF8(b.String()[:maxPatternText], "") + "…"
		}
	}
	return b.String()
}

// looksLikeID reports whether a segment has a digit, and at most letters of hexadecimal
// numbers or more digits than letters besides.
func looksLikeID(segment string) bool {
	numbers, others := 0, 0
	for i := range len(segment) {
		switch c := segment[i]; {
		case '0' <= c && c <= '9':
			numbers++
		case 'a' <= c && c <= 'f', 'A' <= c && c <= 'F', c == '-':
		default:
			others++
		}
	}
	return numbers > 0 && (others == 0 || numbers > others)
}

// Frequent keeps the most frequent of many numbers in a few places: the rarest is replaced by
// a new one, which takes its count over.
type Frequent [patternsPerKey]struct {
	number int32
	count  int64
}

// Add counts a number.
func (m *Frequent) Add(number int32) {
	least := 0
	for i := range m {
		if m[i].count > 0 && m[i].number == number {
			m[i].count++
			return
		}
		if m[i].count < m[least].count {
			least = i
		}
	}
	m[least].number = number
	m[least].count++
}

// Pattern is a pattern of requests of a key. Of a key with more than 6 patterns the counts
// are upper bounds.
type Pattern struct {
	Pattern string `json:"pattern"`
	Count   int64  `json:"count"`
}

// List returns the numbers as texts, the most frequent first.
func (m *Frequent) List(p *Patterns) (list []Pattern) {
	for i := range m {
		if m[i].count > 0 {
			list = append(list, Pattern{p.names[m[i].number], m[i].count})
		}
	}
	slices.SortFunc(list, func(a, b Pattern) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Pattern, b.Pattern))
	})
	return list
}
