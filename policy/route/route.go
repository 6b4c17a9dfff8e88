package route

import (
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/internal/glob"
)

// Route maps matching requests to policies.
type Route struct {
	// Match holds the conditions on a request. All must be met.
	Match Conditions
	// Charges are the charges of each request, all or nothing.
	Charges []Charge
	// Skip makes the search continue with the next route if a part of a key is empty. A part that cannot be read does
	// not skip the route. By default, a request without a key is denied.
	Skip bool
	// EmptyKeyStatus is the response status for a request that lacks a part of a key. If it is 0, the status is 400. A
	// part that cannot be read always has the status 400.
	EmptyKeyStatus int
	// Upstream is the server that a gateway sends the requests to. If it is nil, the gateway uses its own upstream.
	Upstream *Upstream
	// RefundOnError gives a request's units back if the upstream fails before it responds.
	RefundOnError bool
	// Class is the class of the route's requests, for policies with classes.
	Class Class
	// Line is the route's line in its file, or 0.
	Line int
}

// Conditions are the conditions of a route. An unset condition is met by every request.
type Conditions struct {
	Host    Host
	Path    Path
	Methods []string
	// Headers and Query require matching values of header or query fields.
	Headers, Query []Value
	// Clients are networks. At least one of them must contain the client's address.
	Clients []netip.Prefix
	When    *When
}

// Value is a condition on a header or a query field.
type Value struct {
	name    string
	pattern glob.Pattern
}

// HeaderValue returns a condition on a header: at least one of its values must match the pattern, where * matches any
// bytes. The pattern * only requires that the header is present.
func HeaderValue(name, pattern string) (Value, error) {
	if !IsToken(name) {
		return Value{}, engine.InvalidInput("header", engine.Quote(name), nameAccepted)
	}
	return Value{name: canonical(name), pattern: glob.New(pattern)}, nil
}

// QueryValue returns the condition that a query field matches the pattern, as in [HeaderValue].
func QueryValue(name, pattern string) Value { return Value{name: name, pattern: glob.New(pattern)} }

func (v *Value) matches(values []string) bool { return slices.ContainsFunc(values, v.pattern.Match) }

// String returns the condition as name=pattern.
func (v *Value) String() string { return v.name + "=" + v.pattern.String() }

// Condition is the name of one of a route's conditions.
type Condition string

// The conditions, in the order of checking.
const (
	NoMismatch  Condition = ""
	HostDiffers Condition = "host"
	PathDiffers Condition = "path"
	WrongMethod Condition = "method"
	WrongHeader Condition = "header"
	WrongQuery  Condition = "query"
	WrongClient Condition = "client"
	WhenIsFalse Condition = "when"
	// EmptyKey is not a condition: the route matches, but is skipped because a part of the key is empty.
	EmptyKey Condition = "key"
)

// mismatch returns the first condition that is not met. If known is true, it skips host and path, which the table has
// already compared.
func (r *Route) mismatch(v *view, known bool) Condition {
	m := &r.Match
	switch {
	case !known && !m.Host.match(v.host):
		return HostDiffers
	case !known && !m.Path.match(v.path):
		return PathDiffers
	case !m.allowsMethod(v.method) || v.preflight && !slices.Contains(m.Methods, http.MethodOptions):
		return WrongMethod
	case m.wrongHeader(v) != nil:
		return WrongHeader
	case m.wrongQuery(v) != nil:
		return WrongQuery
	case len(m.Clients) > 0 && !within(m.Clients, v.clientAddress()):
		return WrongClient
	case m.When != nil && !m.When.holds(v):
		return WhenIsFalse
	default:
		return NoMismatch
	}
}

// allowsMethod reports whether the conditions allow the method. An empty list allows every method. GET includes HEAD,
// because servers run the same handler for both.
func (m *Conditions) allowsMethod(method string) bool {
	return len(m.Methods) == 0 || slices.Contains(m.Methods, method) || method == "HEAD" && slices.Contains(m.Methods, "GET")
}

func (m *Conditions) wrongHeader(v *view) *Value {
	for i := range m.Headers {
		if !m.Headers[i].matches(v.compared(m.Headers[i].name)) {
			return &m.Headers[i]
		}
	}
	return nil
}

func (m *Conditions) wrongQuery(v *view) *Value {
	for i := range m.Query {
		if !m.Query[i].matches(v.fields(m.Query[i].name)) {
			return &m.Query[i]
		}
	}
	return nil
}

// String returns the conditions as one line.
func (m *Conditions) String() string {
	var words []string
	add := func(name, text string) {
		if text != "" {
			words = append(words, name+" "+text)
		}
	}
	add("host", m.Host.String())
	add("path", m.Path.String())
	add("method", strings.Join(m.Methods, ", "))
	for i := range m.Headers {
		add("header", m.Headers[i].String())
	}
	for i := range m.Query {
		add("query", m.Query[i].String())
	}
	add("client", joined(m.Clients))
	if m.When != nil {
		add("when", strconv.Quote(m.When.String()))
	}
	if words == nil {
		return "any request"
	}
	return strings.Join(words, ", ")
}

func joined(prefixes []netip.Prefix) string {
	texts := make([]string, len(prefixes))
	for i := range prefixes {
		texts[i] = prefixes[i].String()
	}
	return strings.Join(texts, ", ")
}
