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
// routes. Therefore a value that makes a key must be the only one (bug 97), also among names that some servers take for
// one: CGI and WSGI replace the hyphens of headers by underscores, PHP replaces the dots and spaces of other names by
// underscores and ends them at a bracket, and ASP.NET ignores their case.

// lists are headers that each proxy appends to. They can be in several lines, and the first line counts.
var lists = map[string]bool{"X-Forwarded-For": true, "Forwarded": true, "Via": true}

// header returns the only value of a header, or "" if there is none. readable is false if there are several that
// differ. If the request's headers are joined, each comma may separate two lines.
func (r *Request) header(name string) (text string, readable bool) {
	name = canonical(name)
	values := r.Header[name]
	if strings.ContainsAny(name, "-_") {
		for other, more := range r.Header {
			if other != name && likeHeader(other, name) {
				values = append(slices.Clip(values), more...)
			}
		}
	}
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

// likeHeader reports whether a server may take a header with another name for the one that is called name.
func likeHeader(other, name string) bool {
	return len(other) == len(name) && strings.EqualFold(strings.ReplaceAll(other, "_", "-"), strings.ReplaceAll(name, "_", "-"))
}

// underscores replaces what PHP replaces in the names of fields and cookies.
var underscores = strings.NewReplacer(".", "_", " ", "_")

// likeField reports whether a server may take a field or a cookie with another name for the one that is called name.
func likeField(other, name string) bool {
	other = strings.TrimLeft(other, " ")
	if at := strings.IndexAny(other, "[\x00"); at > 0 && !strings.Contains(name, "[") {
		other = other[:at]
	}
	return len(other) == len(name) && strings.EqualFold(underscores.Replace(other), underscores.Replace(name))
}

// cookie returns the only value of a cookie, or "" if there is none. It is percent-decoded and without white space
// around it, because some servers read it so, and a client could otherwise spell one session in many ways. readable is false if there are several that
// differ, and if net/http does not read one that another server could read, for example because it contains a quote,
// because it follows another cookie after a space (a=b sid=real), or because the request has more than 3000 cookies.
func (v *view) cookie(name string) (text string, readable bool) {
	written := 0
	for _, line := range v.Header["Cookie"] {
		for piece := range strings.FieldsFuncSeq(line, func(c rune) bool { return strings.ContainsRune("; \t,\"", c) }) {
			if at, _, _ := strings.Cut(piece, "="); likeField(at, name) {
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
		values[i] = strings.TrimSpace(decode(read[i].Value))
	}
	if text, readable = core.Only(values); len(read) != written {
		return "", false
	}
	return text, readable
}

// field returns the only value of a query field, or "" if there is none. readable is false if there are several that
// differ, and if there is none but the query is malformed.
func (v *view) field(name string) (text string, readable bool) {
	values := v.queryValues()[name]
	for other, more := range v.query {
		if other != name && likeField(other, name) {
			values = append(slices.Clip(values), more...)
		}
	}
	text, readable = core.Only(values)
	return text, readable && (text != "" || v.malformed == nil)
}

// CheckRead returns an error for a request that an upstream may read differently than the routes: with a malformed pair
// in the query that may contain a field that a route reads, as in a=1;token=x or token=%zz, which routes and some servers
// omit, or with a header that replaces the method, if a route depends on the method.
func (t *Table) CheckRead(r *Request) error {
	if t == nil {
		return nil
	}
	if err := t.checkMethod(r); err != nil || !strings.ContainsAny(r.Query, ";%") {
		return err
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

// MethodOverrides are headers with which a client asks some frameworks to run another method than that of its request.
var MethodOverrides = []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"}

func (t *Table) checkMethod(r *Request) error {
	if r.Method != http.MethodOptions && !t.methods {
		return nil
	}
	for name, values := range r.Header {
		known := slices.ContainsFunc(MethodOverrides, func(known string) bool { return likeHeader(name, known) })
		if known && slices.ContainsFunc(values, func(text string) bool { return !strings.EqualFold(text, r.Method) }) && !t.Reads(name) {
			return engine.InvalidInput("header "+name, engine.Quote(values[0]), "no such header, or the method of the request, because routes depend on the method")
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
