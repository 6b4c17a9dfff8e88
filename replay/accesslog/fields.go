package accesslog

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Fields is what the lines of a format have. Each has the time and the path.
type Fields struct {
	Client, Method, Host, Query, Size bool
	// AnyHeader is true if a line has all headers of its request.
	AnyHeader bool
	// Headers and Cookies are the names of those that the format has. A header has its
	// canonical name.
	Headers, Cookies map[string]bool
}

// Kind is a kind of field.
type Kind string

// The kinds.
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
	// Name is that of a header or cookie.
	Name string
	// By says what needs the field, such as "route 2 (policies.yaml:14)".
	By string
}

// String describes the field.
func (n *Need) String() string {
	if n.Name == "" {
		return "the " + string(n.Kind)
	}
	return "the " + string(n.Kind) + " " + n.Name
}

// has reports whether the lines have a field.
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
		return f.AnyHeader || f.Headers[http.CanonicalHeaderKey(n.Name)] || n.Name == "Host" && f.Host
	}
}

// MissingError says that a log does not have a field that a replay needs.
type MissingError struct {
	Need   Need
	File   string
	Format string
	// How is how to log the field, and how to name it to the replay.
	How string
}

// Error names the field, what needs it, and how to log it.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s needs %s, which %s (%s) does not have; %s", e.Need.By, e.Need.String(), e.File, e.Format, e.How)
}

// how says how to log a field.
func how(n *Need) string {
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
	text := fmt.Sprintf("log it with nginx's %s or Apache's %s and name the whole format with --format, or, for JSON and CSV, its field with --field %s=NAME", nginx, apache, field)
	if n.Kind == Host {
		text += "; or say which host all requests were for, with --host"
	}
	return text
}

// names returns names in order.
func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
