package accesslog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headgate/headgate/policy/route"
)

// Kind is the kind of a log field, such as the client or a header.
type Kind string

// The kinds of fields.
const (
	Client Kind = "client"
	Method Kind = "method"
	Host   Kind = "host"
	Query  Kind = "query"
	Size   Kind = "size"
	Head   Kind = "header"
	Cookie Kind = "cookie"
)

// Need is a field that a replay needs.
type Need struct {
	Kind Kind
	// Name is the name of the header or cookie.
	Name string
	// Or are names of other headers, any of which serves as well.
	Or []string
	// By is the part of the policies that needs the field, such as "route 2 (policies.yaml:14)".
	By string
	// Proxies are the peers that can name the client, for a need of the client.
	Proxies route.Proxies
}

// String returns a description of the field.
func (n *Need) String() string {
	if n.Name == "" {
		return "the " + string(n.Kind)
	}
	return "the " + string(n.Kind) + " " + n.Name
}

// Field is a field of a log, such as the client, or the header with a canonical name.
type Field struct {
	Kind Kind
	Name string
}

// anyHeader is the field of a log whose lines contain all headers of their requests.
var anyHeader = Field{Head, "*"}

// Fields are the fields that the lines of a format contain, besides a time and a path.
type Fields map[Field]bool

// has reports whether the lines contain the field n. The Cookie header contains all cookies.
func (f Fields) has(n *Need) bool {
	switch n.Kind {
	case Head:
		named := func(name string) bool { return f[Field{Head, canonical(name)}] }
		return f[anyHeader] || named(n.Name) || canonical(n.Name) == "Host" && f[Field{Kind: Host}] || slices.ContainsFunc(n.Or, named)
	case Cookie:
		return f[Field{Cookie, n.Name}] || f.has(&Need{Kind: Head, Name: "Cookie"})
	default:
		return f[Field{Kind: n.Kind}]
	}
}

// logged are the nginx variable and the Apache directive that log a field other than a header or a cookie.
var logged = map[Kind][2]string{
	Client: {"$remote_addr", "%a"}, Method: {"$request_method", "%m"}, Host: {"$host", "%{Host}i"},
	Query: {"$request_uri", "%U%q"}, Size: {"$content_length", "%{Content-Length}i"},
}

// hint returns the text that explains how to log a field with nginx and Apache, or how to name it in JSON.
func hint(n *Need) string {
	nginx, apache := logged[n.Kind][0], logged[n.Kind][1]
	switch n.Kind {
	case Cookie:
		nginx, apache = "$cookie_"+n.Name, "%{"+n.Name+"}C"
	case Head:
		nginx, apache = "$http_"+strings.ReplaceAll(strings.ToLower(n.Name), "-", "_"), "%{"+n.Name+"}i"
	}
	text := fmt.Sprintf("log it with nginx's %s or Apache's %s and name the whole format with --format", nginx, apache)
	if n.Kind == Head || n.Kind == Cookie {
		text += fmt.Sprintf(", or, for JSON, as http_NAME or in %s", allHeaders)
	}
	if n.Name == forwardedFor {
		text += "; or, if the log has the address of the client and not of the proxy, replay the policies without trusted_proxies"
	}
	if n.Kind == Host {
		text += "; or say which host all requests were for, with --host"
	}
	return text
}

// names returns the map's keys in sorted order.
func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
