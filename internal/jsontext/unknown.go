package jsontext

import (
	"slices"
	"strings"
)

// Unknown returns the first name in an object that is not one of the known names, ignoring case like encoding/json. It
// does not check nested objects. data must be valid JSON. If it is not an object, found is false.
func Unknown(data []byte, known []string) (name string, found bool) {
	depth := 0
	var text []byte // the last text, with its escapes
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case '"':
			from := i + 1
			for i = from; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			text = data[from:min(i, len(data))]
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ':':
			if depth != 1 || slices.Contains(known, string(text)) {
				continue
			}
			if name = unescape(text); !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
				return name, true
			}
		}
	}
	return "", false
}
