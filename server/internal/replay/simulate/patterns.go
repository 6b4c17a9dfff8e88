package simulate

import (
	"cmp"
	"slices"
	"strings"
)

// Limits on patterns.
const (
	patternsPerKey = 6
	maxPatternText = 120
)

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

// Pattern is a pattern in a key's requests. If there are more than 6 patterns, the counts are upper bounds.
type Pattern struct {
	Pattern string `json:"pattern"`
	Count   int64  `json:"count"`
}

// frequent finds the most frequent of many patterns with a few counters, using the Space-Saving algorithm: a new pattern
// replaces the least frequent one and takes over its count.
type frequent [patternsPerKey]Pattern

// add counts one occurrence of a pattern.
func (m *frequent) add(pattern string) {
	least := 0
	for i := range m {
		if m[i].Pattern == pattern {
			m[i].Count++
			return
		}
		if m[i].Count < m[least].Count {
			least = i
		}
	}
	m[least].Pattern = pattern
	m[least].Count++
}

// list returns the patterns, the most frequent first.
func (m *frequent) list() (list []Pattern) {
	for _, p := range m {
		if p.Count > 0 {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Pattern) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Pattern, b.Pattern))
	})
	return list
}
