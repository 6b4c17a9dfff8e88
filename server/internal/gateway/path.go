package gateway

import "strings"

// written decodes the characters that can hide a dot segment.
var written = strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/", "%5c", `\`, "%5C", `\`, "%3b", ";", "%3B", ";", "%25", "%")

// leaves reports whether a path's dot segments climb above its root. Such a path would reach the parents of an
// upstream's path. Servers interpret paths differently, so a segment counts as ".." if any interpretation makes it so:
// decoded up to three times, with %2F and backslashes as slashes, and without parameters such as ;x. Empty segments do
// not count, because many servers merge slashes.
func leaves(path string) bool {
	for range 3 {
		path = written.Replace(path)
	}
	depth := 0
	for segment := range strings.FieldsFuncSeq(path, func(c rune) bool { return c == '/' || c == '\\' }) {
		segment, _, _ = strings.Cut(segment, ";")
		switch segment {
		case ".", "":
		case "..":
			if depth--; depth < 0 {
				return true
			}
		default:
			depth++
		}
	}
	return false
}
