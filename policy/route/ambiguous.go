package route

import (
	"cmp"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
)

// Check returns the errors of [Request.Check] and of [Table.CheckRead], for a request that [FromHTTP] has not checked.
func (t *Table) Check(r *Request) error {
	if err := r.Check(); err != nil {
		return err
	}
	return t.CheckRead(r)
}

// CheckRead returns an error for a request that an upstream may read differently than the routes: with a path that begins
// with two slashes, if a route depends on the path, with a malformed pair in the query that may contain a field that a
// route reads, as in a=1;token=x or token=%zz, which routes and some servers omit, with a header that some servers take for
// one that a route reads, or that replaces the method, or with two values of what a condition compares.
func (t *Table) CheckRead(r *Request) error {
	if t == nil {
		return nil
	}
	if err := cmp.Or(t.checkStart(r), t.checkHeaders(r), t.checkMethodField(r), t.checkRepeated(r)); err != nil {
		return err
	}
	if pair, name := omitted(r.Query, t.readsField); name != "" {
		return engine.InvalidInput("query", engine.Quote(pair), "the field "+name+" in a pair of its own without ; and with % only before two hexadecimal digits")
	}
	return nil
}

// checkStart refuses //x/login if a route depends on the path: parsers of URL references, as in Node's new URL(target,
// base), read it as /login of the host x, and routes as /x/login (regression: bug 253).
func (t *Table) checkStart(r *Request) error {
	if !t.paths || !strings.HasPrefix(r.Path, "//") {
		return nil
	}
	return engine.InvalidInput("path", engine.Quote(r.Path), "a path that begins with one slash, because routes depend on the path")
}

// omitted returns the first pair of a query that net/url omits, but in which another server may read one of some fields,
// and the field's name, or "" if there is none.
func omitted(query string, read func(name string) bool) (pair, name string) {
	if !strings.ContainsAny(query, ";%") {
		return "", ""
	}
	for pair = range strings.SplitSeq(query, "&") {
		if !malformed(pair) {
			continue
		}
		for piece := range strings.SplitSeq(pair, ";") {
			name, _, _ = strings.Cut(piece, "=")
			name = decode(unicodeEscape.ReplaceAllString(strings.ReplaceAll(name, "+", " "), "%$1"))
			if name != "" && read(name) {
				return pair, name
			}
		}
	}
	return "", ""
}

// unicodeEscape matches an ASCII character as ASP.NET and CGI.pm also decode it.
var unicodeEscape = regexp.MustCompile(`%u00([0-7][[:xdigit:]])`)

// MethodOverrides are headers with which a client asks some frameworks to run another method than that of its request.
var MethodOverrides = []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"}

// checkHeaders refuses X_Plan if a route reads X-Plan: CGI and WSGI read both as one, and a proxy that sets or removes
// X-Plan passes it on. It also refuses a header that replaces the method, if a route depends on the method, and in an
// OPTIONS request, which may pass without a charge.
func (t *Table) checkHeaders(r *Request) error {
	for name, values := range r.Header {
		if strings.IndexByte(name, '_') < 0 && !t.underscores && !strings.HasPrefix(name, "X-Http-Method") && !strings.HasPrefix(name, "X-Method") {
			continue
		}
		plain := canonical(strings.ReplaceAll(name, "_", "-"))
		if read, reads := t.reads[plain]; reads && read != name && !slices.Equal(values, r.Header[read]) {
			return engine.InvalidInput("header "+name, engine.Quote(values[0]), "only "+read+", which a route reads: some servers take them for one")
		}
		if slices.Contains(MethodOverrides, plain) {
			if err := t.checkMethod(r, name, plain); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkMethod refuses a header that replaces the method. The header's plain name has hyphens.
func (t *Table) checkMethod(r *Request, name, plain string) error {
	values := r.Header[name]
	if len(values) == 0 {
		return nil
	}
	differs := func(text string) bool { return !strings.EqualFold(text, r.Method) }
	if _, reads := t.reads[plain]; reads || !t.methods && !isOptions(r) || !slices.ContainsFunc(values, differs) {
		return nil
	}
	return engine.InvalidInput("header "+name, engine.Quote(values[0]), "no such header, or the method of the request, because routes depend on the method")
}

// isOptions reports whether a request may be a preflight, which passes without a charge.
func isOptions(r *Request) bool { return strings.EqualFold(r.Method, http.MethodOptions) }

// checkMethodField refuses a request whose field _method names another method, if a route depends on the method, and an
// OPTIONS request, which may pass without a charge: Symfony, Laravel and WordPress run that one (bugs 223, 254).
func (t *Table) checkMethodField(r *Request) error {
	const field = "_method"
	if r.Query == "" || !t.methods && !isOptions(r) {
		return nil
	}
	for pair := range strings.SplitSeq(r.Query, "&") {
		name, method, _ := strings.Cut(pair, "=")
		if len(name) < len(field) || fieldName(decode(strings.ReplaceAll(name, "+", " "))) != field {
			continue
		}
		if method = decode(method); !strings.EqualFold(method, r.Method) && (isOptions(r) || !t.readsField(field)) {
			return engine.InvalidInput("query field "+field, engine.Quote(method), "no such field, or the method of the request, because routes depend on the method")
		}
	}
	return nil
}

// checkRepeated refuses two different values of a header or field that a when condition names. The condition has only the
// first one, and many servers read the last.
func (t *Table) checkRepeated(r *Request) error {
	if len(t.compared) == 0 {
		return nil
	}
	repeated := func(what, name string, values []string) error {
		if _, same := core.Only(values); same || !t.compared[name] {
			return nil
		}
		return engine.InvalidInput(what+" "+name, engine.Quote(values[0])+" and another value", "one value, because a condition of a route names it")
	}
	for name, values := range r.Header {
		if len(values) > 1 && !lists[name] {
			if err := repeated("header", strings.ToLower(name), values); err != nil {
				return err
			}
		}
	}
	if !strings.Contains(r.Query, "&") {
		return nil
	}
	fields, _ := url.ParseQuery(r.Query) // of a malformed query, the readable pairs
	for name, values := range alike(fields) {
		if err := repeated("query field", name, values); err != nil {
			return err
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
	return t.compared[fieldName(name)] || slices.ContainsFunc(t.routes, func(r Route) bool {
		like := func(read string) bool { return sameField(read, name) }
		return slices.ContainsFunc(r.Match.Query, func(v Value) bool { return like(v.name) }) ||
			slices.ContainsFunc(r.Charges, func(c Charge) bool {
				return slices.ContainsFunc(c.Key, func(p Part) bool { return p.From == FromQuery && like(p.Name) })
			})
	})
}
