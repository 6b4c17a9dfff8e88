package route

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
)

const (
	maxSegments = 32
	maxPattern  = 1024
)

// NormalPath returns a path in the form that routes compare, so that no spelling of a path avoids its route. The
// result begins with a slash. Each segment is percent-decoded once, and loses its parameters: the text from a semicolon
// on, which servers in Java do not count as part of it. Empty segments and a trailing slash are removed. The segments .
// and .. are resolved, and .. at the root stays at the root. An encoded slash stays part of its segment, written %2F, and
// a percent sign is written %25. Letters keep their case.
func NormalPath(path string) string {
	if isNormal(path) {
		return path
	}
	segments := make([]string, 0, 16)
	for segment := range strings.SplitSeq(path, "/") {
		switch decoded, _, _ := strings.Cut(decode(segment), ";"); decoded {
		case "", ".":
		case "..":
			segments = segments[:max(len(segments)-1, 0)]
		default:
			segments = append(segments, encode(decoded))
		}
	}
	return "/" + strings.Join(segments, "/")
}

// disguised decodes the characters that can hide a dot segment.
var disguised = strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/", "%5c", `\`, "%5C", `\`, "%3b", ";", "%3B", ";", "%25", "%")

// checkSegments returns an error for a path with a segment ., .. or, before its parameters, "", as the most lenient server
// reads them: decoded up to three times, with %2F and backslashes as slashes, and without parameters such as ;x. Routes
// resolve them, but most frameworks take them for text: for them, /search/a/%2e%2e and /search/;a are searches (bugs 99,
// 226).
func checkSegments(path string) error {
	if !strings.Contains(path, "/.") && !strings.Contains(path, "/;") && !mayHide(path) {
		return nil
	}
	read := path
	for n := 0; n < 3 && strings.Contains(read, "%"); n++ {
		read = disguised.Replace(read)
	}
	for segment := range strings.FieldsFuncSeq(read, func(c rune) bool { return c == '/' || c == '\\' }) {
		switch segment, _, _ = strings.Cut(segment, ";"); segment {
		case "", ".", "..":
			return engine.InvalidInput("path", engine.Quote(path), "a path without the segments ., .. and ;x, also encoded")
		}
	}
	return nil
}

// mayHide reports whether a path may have a dot or a semicolon in another encoding, or after a slash in another one.
func mayHide(path string) bool {
	return (strings.IndexByte(path, '%') >= 0 || strings.IndexByte(path, '\\') >= 0) && (strings.ContainsAny(path, ".;") ||
		slices.ContainsFunc(hidden, func(code string) bool { return strings.Contains(path, code) }))
}

// hidden are the codes of a dot and a semicolon.
var hidden = []string{"2e", "2E", "3b", "3B"}

// CheckEmptySegments returns an error for a path with an empty segment before the last. Routes ignore it. A router may
// take it for text instead, so that such a path would reach a handler by a route for another path (bug 99).
func CheckEmptySegments(path string) error {
	if strings.Contains(path, "//") {
		return engine.InvalidInput("path", engine.Quote(path), "a path without empty segments")
	}
	return nil
}

// isNormal reports whether the path is certainly in normal form: it contains no encoded characters, no parameters, no empty
// segments, and no segments that begin with a dot.
func isNormal(path string) bool {
	if path == "/" {
		return true
	}
	if path == "" || path[0] != '/' || path[len(path)-1] == '/' {
		return false
	}
	for i := range len(path) {
		switch path[i] {
		case '%', ';':
			return false
		case '/':
			if path[i+1] == '/' || path[i+1] == '.' {
				return false
			}
		}
	}
	return true
}

// decode decodes a segment. A percent sign without two hexadecimal digits after it is kept.
func decode(segment string) string {
	if !strings.Contains(segment, "%") {
		return segment
	}
	if decoded, err := url.PathUnescape(segment); err == nil {
		return decoded
	}
	var b strings.Builder
	for i := 0; i < len(segment); i++ {
		if i+2 < len(segment) && segment[i] == '%' {
			if c, err := strconv.ParseUint(segment[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(segment[i])
	}
	return b.String()
}

var encoder = strings.NewReplacer("%", "%25", "/", "%2F")

// encode encodes a decoded segment so that different segments remain different.
func encode(segment string) string {
	if !strings.ContainsAny(segment, "%/") {
		return segment
	}
	return encoder.Replace(segment)
}

// Path is a route's path pattern, such as /v1/users/{id}/**. The zero value matches any path.
type Path struct {
	text     string
	segments []segment
	tail     bool // ends with **
}

type segment struct {
	literal string // in normal form; "" matches any segment
	name    string // the name in {name}
}

const pathAccepted = "a path such as /v1/users/{id}/**: it begins with / and does not end with it, a segment is a text without ;, * or {name}, ** stands at the end; at most 32 segments and 1024 bytes"

// ParsePath parses a path pattern.
func ParsePath(text string) (Path, error) {
	wrong := func(reason string) (Path, error) {
		return Path{}, engine.InvalidInput("path", engine.Quote(text)+reason, pathAccepted)
	}
	if text == "/" {
		return Path{text: text, segments: []segment{}}, nil
	}
	if !strings.HasPrefix(text, "/") || strings.HasSuffix(text, "/") || len(text) > maxPattern {
		return wrong("")
	}
	p := Path{text: text, segments: []segment{}}
	parts := strings.Split(text[1:], "/")
	if len(parts) > maxSegments {
		return wrong(" with " + strconv.Itoa(len(parts)) + " segments")
	}
	for i, part := range parts {
		s, ok := parseSegment(part)
		switch {
		case part == "**" && i == len(parts)-1:
			p.tail = true
			return p, nil
		case !ok:
			return wrong(" with the segment " + engine.Quote(part))
		case s.name != "" && p.place(s.name) >= 0:
			return wrong(" with " + engine.Quote(part) + " twice")
		}
		p.segments = append(p.segments, s)
	}
	return p, nil
}

func parseSegment(part string) (s segment, ok bool) {
	if part == "*" {
		return segment{}, true
	}
	if name, found := strings.CutPrefix(part, "{"); found {
		name, found = strings.CutSuffix(name, "}")
		return segment{name: name}, found && name != "" && !strings.ContainsAny(name, "{}*")
	}
	decoded := decode(part)
	ok = decoded != "" && decoded != "." && decoded != ".." && !strings.ContainsAny(part, "{}*?#") && !strings.Contains(decoded, ";")
	return segment{literal: encode(decoded)}, ok
}

// String returns the pattern as written, or "" for any path.
func (p *Path) String() string { return p.text }

// Has reports whether the pattern contains a segment {name}.
func (p *Path) Has(name string) bool { return name != "" && p.place(name) >= 0 }

// Names returns the names of the named segments, in order.
func (p *Path) Names() (names []string) {
	for i := range p.segments {
		if name := p.segments[i].name; name != "" {
			names = append(names, name)
		}
	}
	return names
}

// place returns the index of the segment {name}, or -1.
func (p *Path) place(name string) int {
	for i := range p.segments {
		if p.segments[i].name == name {
			return i
		}
	}
	return -1
}

// match reports whether the pattern matches a path in normal form.
func (p *Path) match(path string) bool {
	if p.text == "" {
		return true
	}
	rest := path[1:]
	for i := range p.segments {
		if rest == "" {
			return false
		}
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		if s := &p.segments[i]; s.literal != "" && s.literal != part {
			return false
		}
	}
	return rest == "" || p.tail
}

// segmentAt returns the decoded segment at an index of a path in normal form.
func segmentAt(path string, place int) string {
	i := 0
	for part := range strings.SplitSeq(path[1:], "/") {
		if i == place {
			return decode(part)
		}
		i++
	}
	return ""
}
