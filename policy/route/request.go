package route

import (
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit/wire"
)

// Request holds the properties of an HTTP request that routes match.
type Request struct {
	Method string
	// Host is the host of the request, with or without a port.
	Host string
	// Path is the path as sent, percent-encoded. Query is the text after the question mark.
	Path, Query string
	// Header holds the header fields under their canonical names, such as X-User.
	Header http.Header
	// Peer is the address at the other end of the connection: a proxy or the client.
	Peer netip.Addr
	// PeerName is the client in a log that has another text than an address, such as a host name. It is read only if
	// Peer is not set.
	PeerName string
	// AnyCase makes the literal segments of routes match in any case.
	AnyCase bool
	// Joined is set if the lines of a repeated header arrive as one, joined by commas, as from Envoy.
	Joined bool
	// Size is the length of the body in bytes, or -1 if unknown.
	Size int64
}

// FromHTTP returns the route request for a server's HTTP request. If the target or the host is ambiguous, the error is
// an [*engine.InputError]: see [Request.Check].
func FromHTTP(r *http.Request) (Request, error) {
	path := r.URL.EscapedPath()
	if r.URL.Opaque != "" {
		path = r.URL.Scheme + ":" + r.URL.Opaque
	}
	request := Request{
		Method: r.Method, Host: r.Host, Path: path, Query: r.URL.RawQuery,
		Header: r.Header, Peer: wire.Peer(r), Size: r.ContentLength,
	}
	return request, request.Check()
}

// maxFields is the maximum number of query fields, the same as in net/url.
const maxFields = 10_000

// Check returns an error for a path that does not begin with a slash, as in the target x:http://h/login, because an
// upstream may extract a different path than the routes do. OPTIONS * and the empty path of http://h are accepted.
// Check also rejects a target that servers end at different characters, a path with the segments ., .. or ;x, a query
// with more than 10 000 fields, a host in the wrong form (it must be a name or an address, optionally followed by one
// port; regression: bug 67), and what [CheckConnection] rejects.
func (r *Request) Check() error {
	asterisk := r.Path == "*" && r.Method == http.MethodOptions
	if r.Path != "" && r.Path[0] != '/' && !asterisk {
		return engine.InvalidInput("request target", engine.Quote(r.Path), "a path that begins with /, a URL with such a path, or OPTIONS *")
	}
	if strings.ContainsAny(r.Path, "# \\") || strings.ContainsAny(r.Query, "# ") {
		// Some servers end a target at #, and HTTP/1 ends it at a blank, which a query of HTTP/2 can contain. Of
		// ?token=real#1 they read the token real, but the key would be real#1, and a fresh one for each number. Parsers
		// of URLs in JavaScript read /x\login as /x/login (bug 253).
		return engine.InvalidInput("request target", engine.Quote(r.Path+"?"+r.Query), "a path and a query with # as %23, a blank as %20 and a backslash as %5C")
	}
	if err := checkSegments(r.Path); err != nil {
		return err
	}
	if !isHost(r.Host) {
		return engine.InvalidInput("host", engine.Quote(r.Host), "a name or an address with at most one port; an IPv6 address is in brackets")
	}
	if n := strings.Count(r.Query, "&") + 1; n > maxFields {
		return engine.InvalidInput("query", strconv.Itoa(n)+" fields", "up to "+strconv.Itoa(maxFields))
	}
	return CheckConnection(r.Header)
}

// hopByHop lists the headers that a client may name in Connection.
var hopByHop = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Authenticate": true, "Proxy-Authorization": true, "Proxy-Connection": true,
	"Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true, "Http2-Settings": true,
}

// CheckConnection returns an error if Connection names a header of the request that is not hop-by-hop. A proxy on the
// way removes such a header, and forwards its client's Connection header. Therefore a client could remove what another
// proxy wrote for the routes, such as a plan or a user (regression: bugs 68 and 91, Traefik's CVE-2024-45410).
func CheckConnection(h http.Header) error {
	for _, line := range h["Connection"] {
		for token := range strings.SplitSeq(line, ",") {
			name := canonical(textproto.TrimString(token))
			if _, there := h[name]; there && !hopByHop[name] {
				return engine.InvalidInput("header Connection", engine.Quote(name), "keep-alive, close, Upgrade and the names of other hop-by-hop headers")
			}
		}
	}
	return nil
}

// view is a request in normal form. Properties used by few routes are computed on demand.
type view struct {
	*Request
	table  *Table
	method string
	host   string
	path   string

	query     url.Values
	alike     url.Values // query by [fieldName], or query itself
	client    netip.Addr
	queried   bool
	located   bool
	preflight bool           // only routes that name OPTIONS match
	keyless   bool           // routes match without their keys
	costly    bool           // a when condition has reached its cost limit
	values    map[string]any // the variables for a when condition
}

func (t *Table) view(r *Request) view {
	v := view{Request: r, table: t, method: upper(r.Method), host: normalHost(r.Host), path: NormalPath(r.Path)}
	v.preflight = v.method == http.MethodOptions && asked(r) != ""
	return v
}

// asked returns the method that a browser's preflight asks for, or "" if the request is no preflight. Browsers ask
// whether a page of another origin may send a request.
func asked(r *Request) string {
	if methods := r.Header["Access-Control-Request-Method"]; len(methods) == 1 && len(r.Header["Origin"]) == 1 {
		return methods[0]
	}
	return ""
}

// queryValues returns the values of the query. Malformed pairs are omitted.
func (v *view) queryValues() url.Values {
	if !v.queried {
		v.query, _ = url.ParseQuery(v.Query)
		v.queried = true
	}
	return v.query
}

// clientAddress returns the client's address, or the zero Addr if it is unknown.
func (v *view) clientAddress() netip.Addr {
	if !v.located {
		v.client = v.table.proxies.Client(v.Peer, v.Header)
		v.located = true
	}
	return v.client
}

// upper returns the method in upper case. It allocates only if the method contains a lower-case letter, which is
// rare.
func upper(method string) string {
	for i := range len(method) {
		if c := method[i]; 'a' <= c && c <= 'z' {
			return upperASCII(method)
		}
	}
	return method
}

func upperASCII(text string) string {
	letters := []byte(text)
	for i, c := range letters {
		if 'a' <= c && c <= 'z' {
			letters[i] = c - 'a' + 'A'
		}
	}
	return string(letters)
}

func lowerASCII(text string) string {
	letters := []byte(text)
	for i, c := range letters {
		if 'A' <= c && c <= 'Z' {
			letters[i] = c - 'A' + 'a'
		}
	}
	return string(letters)
}

// SetTarget sets the path and the query from the target in a request line: /path?query, or a whole URL. A URL also
// sets the host. A # stays where it is, so that [Request.Check] rejects it.
func (r *Request) SetTarget(target string) {
	if scheme, rest, ok := strings.Cut(target, "://"); ok && !strings.ContainsAny(scheme, "/?") {
		at := strings.IndexAny(rest, "/?")
		if at < 0 {
			at = len(rest)
		}
		r.Host, target = rest[:at], rest[at:]
	}
	r.Path, r.Query, _ = strings.Cut(target, "?")
}
