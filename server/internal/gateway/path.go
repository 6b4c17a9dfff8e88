package gateway

import "github.com/headgate/headgate/policy/route"

// leaves reports whether a path's dot segments climb above its root. Such a path would reach the parents of an
// upstream's path. Servers interpret paths differently, so a segment counts as ".." if any interpretation makes it so.
func leaves(path string) bool {
	depth := 0
	for segment := range route.Segments(path) {
		switch segment {
		case ".":
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
