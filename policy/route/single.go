package route

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/headgate/headgate/core"
)

// A client can send a header, a cookie or a query field twice, and an upstream may read the other value than the
// routes. Therefore a value that makes a key must be the only one (bug 97), also among names that some servers take for
// one.

// lists are headers that each proxy appends to. They can be in several lines, and the first line counts.
var lists = map[string]bool{"X-Forwarded-For": true, "Forwarded": true, "Via": true}

// header returns the only value of a header, or "" if there is none. readable is false if there are several that
// differ.
func (r *Request) header(name string) (text string, readable bool) {
	name = canonical(name)
	values := r.Header[name]
	switch {
	case len(values) == 0:
		return "", true
	case len(values) == 1 && !r.Joined, lists[name]:
		return values[0], true
	default:
		return core.Only(r.lines(name))
	}
}

// lines returns the values of a header's lines. If the request's headers are joined, each comma may separate two lines.
func (r *Request) lines(name string) (values []string) {
	if values = r.Header[name]; !r.Joined || len(values) != 1 || !strings.Contains(values[0], ",") {
		return values
	}
	values = strings.Split(values[0], ",")
	for i := range values {
		values[i] = strings.TrimSpace(values[i])
	}
	return values
}

// compared returns the values that a condition on a header compares: those of its lines and, if they may have been joined,
// the whole. Otherwise a client could leave the condition by a second line (regression: bug 221).
func (r *Request) compared(name string) []string {
	values := r.Header[name]
	if lines := r.lines(name); len(lines) != len(values) {
		return append(lines, values...)
	}
	return values
}

// fieldName returns a name of a query field or a cookie as the least exact servers read it: PHP replaces dots and spaces
// by underscores and ends the name at a bracket or a zero byte, and ASP.NET ignores the case.
func fieldName(name string) string {
	if !strings.ContainsFunc(name, func(c rune) bool { return 'A' <= c && c <= 'Z' || c == '.' || c == ' ' || c == '[' || c == 0 }) {
		return name
	}
	name = strings.TrimLeft(name, " ")
	if at := strings.IndexAny(name, "[\x00"); at > 0 {
		name = name[:at]
	}
	return lowerASCII(inNames.Replace(name))
}

var inNames = strings.NewReplacer(".", "_", " ", "_")

// fields returns the values of all query fields that a server may take for the one with this name.
func (v *view) fields(name string) []string {
	if strings.Contains(name, "[") {
		return v.queryValues()[name]
	}
	return v.merged()[fieldName(name)]
}

// merged returns the query's values by [fieldName].
func (v *view) merged() url.Values {
	if v.alike == nil {
		v.alike = alike(v.queryValues())
	}
	return v.alike
}

// alike merges the fields whose names a server may take for one. It returns values itself if there are none.
func alike(values url.Values) url.Values {
	unusual := false
	for name := range values {
		unusual = unusual || name != fieldName(name)
	}
	if !unusual {
		return values
	}
	merged := make(url.Values, len(values))
	for name, more := range values {
		name = fieldName(name)
		merged[name] = append(merged[name], more...)
	}
	return merged
}

// cookie returns the only value of a cookie, or "" if there is none. It is percent-decoded and without white space
// around it, because some servers read it so, and a client could otherwise spell one session in many ways. readable is
// false if there are several that differ, if one has a comma, or a space without quotes, where some servers end it, and if
// net/http does not read one that another server could read, for example because it contains a quote, because it follows
// another cookie after a space (a=b sid=real), or because the request has more than 3000 cookies.
func (v *view) cookie(name string) (text string, readable bool) {
	written := v.cookiesLike(name)
	if written == 0 {
		return "", true
	}
	read := (&http.Request{Header: v.Header}).CookiesNamed(name)
	values := make([]string, len(read))
	for i := range read {
		value := strings.TrimSpace(read[i].Value)
		if strings.Contains(value, ",") || !read[i].Quoted && strings.ContainsAny(value, " \t") {
			return "", false
		}
		values[i] = strings.TrimSpace(decode(value))
	}
	if text, readable = core.Only(values); len(read) != written {
		return "", false
	}
	return text, readable
}

// cookiesLike counts the cookies that a server may take for the one with this name. The name without an equals sign after
// it is none, as in a cookie with the JSON {"sid":1}.
func (v *view) cookiesLike(name string) (n int) {
	for _, line := range v.Header["Cookie"] {
		named := false // the piece before
		for piece := range strings.FieldsFuncSeq(line, func(c rune) bool { return strings.ContainsRune("; \t,\"", c) }) {
			at, _, assigned := strings.Cut(piece, "=")
			named = named && at == "" || sameField(at, name)
			if named && assigned {
				n++
			}
		}
	}
	return n
}

// field returns the only value of a query field, or "" if there is none. readable is false if there are several that
// differ, and if there is none but a malformed pair may contain it.
func (v *view) field(name string) (text string, readable bool) {
	if text, readable = core.Only(v.fields(name)); text != "" {
		return text, readable
	}
	_, hidden := omitted(v.Query, func(other string) bool { return sameField(other, name) })
	return "", readable && hidden == ""
}

// sameField reports whether a server may take two names of fields or cookies for one.
func sameField(a, b string) bool { return a == b || fieldName(a) == fieldName(b) }
