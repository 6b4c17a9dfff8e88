// Package glob matches strings against patterns, where * matches any bytes. It finds the best of many patterns for a
// string.
package glob

import "strings"

// Pattern is a string where each * matches any number of bytes, including none.
type Pattern struct {
	text  string
	parts []string // the strings between the stars; a single part if there is no star
}

// New parses a pattern.
func New(text string) Pattern { return Pattern{text: text, parts: strings.Split(text, "*")} }

// String returns the pattern as written.
func (p *Pattern) String() string { return p.text }

// Exact reports whether the pattern contains no star, so that it matches exactly one string.
func (p *Pattern) Exact() bool { return len(p.parts) == 1 }

// Match reports whether the text matches the pattern: it consists of the parts in order, with any bytes between them.
func (p *Pattern) Match(text string) bool {
	if p.Exact() {
		return text == p.text
	}
	first, last := p.ends()
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	middle := text[len(first) : len(text)-len(last)]
	for _, part := range p.parts[1 : len(p.parts)-1] {
		i := strings.Index(middle, part)
		if i < 0 {
			return false
		}
		middle = middle[i+len(part):]
	}
	return true
}

// ends returns the strings before the first star and after the last one. If there is no star, first is the whole
// pattern.
func (p *Pattern) ends() (first, last string) {
	if p.Exact() {
		return p.text, ""
	}
	return p.parts[0], p.parts[len(p.parts)-1]
}

// middle returns the longest string between two stars, or "".
func (p *Pattern) middle() (longest string) {
	for i := 1; i < len(p.parts)-1; i++ {
		if len(p.parts[i]) > len(longest) {
			longest = p.parts[i]
		}
	}
	return longest
}
