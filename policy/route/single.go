package route

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
)

// A client can send a header, a cookie or a query field twice, and an upstream may read the other value than the
// routes. Therefore a value that makes a key must be the only one (bug 97).

// lists are headers that each proxy appends to. They can be in several lines, and the first line counts.
var lists = map[string]bool{"X-Forwarded-For": true, "Forwarded": true, "Via": true}

// header returns the only value of a header, or "" if there is none. readable is false if there are several that
// differ. If the request's headers are joined, each comma may separate two lines.
func (r *Request) header(name string) (text string, readable bool) {
	name = canonical(name)
	values := r.Header[name]
	switch {
	case len(values) == 0:
		return "", true
	case len(values) == 1 && !r.Joined, lists[name]:
		return values[0], true
	case len(values) == 1 && strings.Contains(values[0], ","):
		values = strings.Split(values[0], ",")
		for i := range values {
			values[i] = strings.TrimSpace(values[i])
		}
	}
	return core.Only(values)
}

// cookie returns the only value of a cookie, or "" if there is none. readable is false if there are several that
// differ, and if net/http does not read one that another server could read, for example because it contains a quote,
// because it follows another cookie after a space (a=b sid=real), or because the request has more than 3000 cookies.
func (v *view) cookie(name string) (text string, readable bool) {
	written := 0
	for _, line := range v.Header["Cookie"] {
		for piece := range strings.FieldsFuncSeq(line, func(c rune) bool { return strings.ContainsRune("; \t,\"", c) }) {
			if at, _, _ := strings.Cut(piece, "="); at == name {
				written++
			}
		}
	}
	if written == 0 {
		return "", true
	}
	read := (&http.Request{Header: v.Header}).CookiesNamed(name)
	values := make([]string, len(read))
	for i := range read {
		values[i] = read[i].Value
	}
	if text, readable = core.Only(values); len(read) != written {
		return "", false
	}
	return text, readable
}

// field returns the only value of a query field, or "" if there is none. readable is false if there are several that
// differ, and if there is none but the query is malformed.
func (v *view) field(name string) (text string, readable bool) {
	text, readable = core.Only(v.queryValues()[name])
	return text, readable && (text != "" || v.malformed == nil)
}

// CheckQuery returns an error if a malformed pair of the query may contain a field that a route reads, as in
// a=1;token=x or token=%zz. Routes and some servers omit such a pair; others read it.
func (t *Table) CheckQuery(r *Request) error {
	if t == nil || !strings.ContainsAny(r.Query, ";%") {
		return nil
	}
	for pair := range strings.SplitSeq(r.Query, "&") {
		if !malformed(pair) {
			continue
		}
		for piece := range strings.SplitSeq(pair, ";") {
			name, _, _ := strings.Cut(piece, "=")
			if name = decode(strings.ReplaceAll(name, "+", " ")); name != "" && t.readsField(name) {
				return engine.InvalidInput("query", engine.Quote(pair), "the field "+name+" in a pair of its own without ; and with % only before two hexadecimal digits")
			}
		}
	}
	return nil
}

// malformed reports whether net/url omits a pair.
func malformed(pair string) bool {
	if strings.Contains(pair, ";") {
		return true
	}
	_, err := url.QueryUnescape(pair)
	return err != nil
}

// readsField reports whether a route reads a query field, to match or for a key.
func (t *Table) readsField(name string) bool {
	return slices.ContainsFunc(t.routes, func(r Route) bool {
		m := &r.Match
		return slices.ContainsFunc(m.Query, func(v Value) bool { return v.name == name }) || m.When.names(name) ||
			slices.ContainsFunc(r.Charges, func(c Charge) bool {
				return slices.ContainsFunc(c.Key, func(p Part) bool { return p.From == FromQuery && p.Name == name })
			})
	})
}
