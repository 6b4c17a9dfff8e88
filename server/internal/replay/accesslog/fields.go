package accesslog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headgate/headgate/policy/route"
)

// Fields describes which fields the lines of a format contain. They always contain a time and a path.
type Fields struct {
	Client, Method, Host, Query, Size bool
	// AnyHeader is true if each line contains all headers of its request.
	AnyHeader bool
	// Headers and Cookies are the names of the headers and cookies that the format logs. Header names are canonical.
	Headers, Cookies map[string]bool
}

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

// has reports whether the lines contain the field n. The Cookie header contains all cookies.
func (f *Fields) has(n *Need) bool {
	switch n.Kind {
	case Client:
		return f.Client
	case Method:
		return f.Method
	case Host:
		return f.Host
	case Query:
		return f.Query
	case Size:
		return f.Size
	case Cookie:
		return f.Cookies[n.Name] || f.has(&Need{Kind: Head, Name: "Cookie"})
	default:
		return f.AnyHeader || f.Headers[canonical(n.Name)] || canonical(n.Name) == "Host" && f.Host ||
			slices.ContainsFunc(n.Or, func(name string) bool { return f.Headers[canonical(name)] })
	}
}

// MissingError reports that a log lacks a field that a replay needs.
type MissingError struct {
	Need   Need
	File   string
	Format string
	// How explains how to log the field and how to name it in a replay.
	How string
}

// Error names the field, the part of the policies that needs it, and how to log it.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s needs %s, which %s (%s) does not have; %s", e.Need.By, e.Need.String(), e.File, e.Format, e.How)
}

// hint returns the text that explains how to log a field with nginx and Apache, and how to name it with --field.
func hint(n *Need) string {
	var nginx, apache string
	switch n.Kind {
	case Client:
		nginx, apache = "$remote_addr", "%a"
	case Method:
		nginx, apache = "$request_method", "%m"
	case Host:
		nginx, apache = "$host", "%{Host}i"
	case Query:
		nginx, apache = "$request_uri", "%U%q"
	case Size:
		nginx, apache = "$content_length", "%{Content-Length}i"
	case Cookie:
		nginx, apache = "$cookie_"+n.Name, "%{"+n.Name+"}C"
	default:
		nginx, apache = "$http_"+strings.ReplaceAll(strings.ToLower(n.Name), "-", "_"), "%{"+n.Name+"}i"
	}
	field := string(n.Kind)
	if n.Name != "" {
		field += "." + n.Name
	}
	text := fmt.Sprintf("log it with nginx's %s or Apache's %s and name the whole format with --format, or, for JSON, its field with --field %s=NAME", nginx, apache, field)
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
