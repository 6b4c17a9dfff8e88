package main

import (
	"regexp"
	"slices"
)

// word is a token in the code, in a pattern or in a replacement. Layout and comments between words do not matter.
type word struct {
	text    string
	at, end int  // bytes in the source
	name    bool // an identifier, which a wildcard in a pattern can match
}

// joined merges each dollar sign with the name after it into one word, which is a wildcard.
func joined(words []word) []word {
	var out []word
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w.text == "$" && i+1 < len(words) && words[i+1].name && words[i+1].at == w.end {
			i++
			w = word{text: "$" + words[i].text, at: w.at, end: words[i].end}
		}
		out = append(out, w)
	}
	return out
}

// patternMatch is a match of a pattern: the bytes from at to end, and the names that the wildcards match.
type patternMatch struct {
	at, end int
	names   map[string]string
}

// match returns every match of the pattern in the code.
func match(code, pattern []word) []patternMatch {
	var places []patternMatch
	for i := 0; i+len(pattern) <= len(code) && len(pattern) > 0; i++ {
		if names, ok := fits(code[i:], pattern); ok {
			places = append(places, patternMatch{code[i].at, code[i+len(pattern)-1].end, names})
		}
	}
	return places
}

// fits reports whether the code begins with the pattern. A wildcard matches a single name, which must be the same at
// each occurrence.
func fits(code, pattern []word) (names map[string]string, ok bool) {
	names = map[string]string{}
	for i, p := range pattern {
		w := code[i]
		if !wildcard.MatchString(p.text) {
			if w.text != p.text {
				return nil, false
			}
			continue
		}
		if before, bound := names[p.text]; !w.name || bound && before != w.text {
			return nil, false
		}
		names[p.text] = w.text
	}
	return names, true
}

var wildcard = regexp.MustCompile(`^\$\w+$`)

// filled returns the replacement, with the names from the match in place of its wildcards. If a wildcard in the
// replacement does not occur in the pattern, filled returns it as unknown.
func filled(words []word, replacement string, names map[string]string) (text, unknown string) {
	from := 0
	for _, w := range words {
		if !wildcard.MatchString(w.text) {
			continue
		}
		name, ok := names[w.text]
		if !ok {
			return "", w.text
		}
		text += replacement[from:w.at] + name
		from = w.end
	}
	return text + replacement[from:], ""
}

// same reports whether two texts consist of the same words.
func same(a, b []word) bool {
	return slices.EqualFunc(a, b, func(a, b word) bool { return a.text == b.text })
}
