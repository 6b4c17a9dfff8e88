package simulate

import (
	"cmp"
	"slices"
	"strings"
)

// Limits on patterns.
const (
	maxPatterns    = 1 << 16
	patternsPerKey = 6
	maxPatternText = 120
)

// Patterns numbers strings, such as the patterns of requests. A request's pattern is its method and its path, with
// placeholders instead of ids.
type Patterns struct {
	numbers map[string]int32
	names   []string
}

// otherPattern is the number shared by all patterns beyond maxPatterns.
const otherPattern = 0

// NewPatterns returns an empty numbering.
func NewPatterns() Patterns {
	return Patterns{numbers: map[string]int32{}, names: []string{"other paths"}}
}

// Of returns the number of a request's pattern.
func (p *Patterns) Of(method, path string) int32 { return p.Number(pattern(method, path)) }

// Number returns the number of a string. After 65536 strings, all new strings share one number.
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

// pattern returns the method and the path, with {} in place of segments that look like ids, such as numbers and
// hashes.
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

// looksLikeID reports whether a segment contains more decimal digits than characters that are neither hexadecimal
// digits nor hyphens.
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

// Frequent finds the most frequent of many numbers with a few counters, using the Space-Saving algorithm: a new number
// replaces the least frequent one and takes over its count.
type Frequent [patternsPerKey]struct {
	number int32
	count  int64
}

// Add counts one occurrence of a number.
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

// Pattern is a pattern in a key's requests. If there are more than 6 patterns, the counts are upper bounds.
type Pattern struct {
	Pattern string `json:"pattern"`
	Count   int64  `json:"count"`
}

// List returns the patterns counted by m, the most frequent first.
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
