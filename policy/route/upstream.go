package route

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/headgate/headgate/adaptive"
	"github.com/headgate/headgate/engine"
)

// Upstream is a server that a gateway forwards requests to.
type Upstream struct {
	// Name is the upstream's name in the file.
	Name string
	// URL consists of a scheme (http or https), a host and optionally a path. Request paths are appended to that path.
	URL *url.URL
	// ClearHTTP2 is true for HTTP/2 in clear text without an upgrade from HTTP/1.1. The scheme in the file is h2c://.
	ClearHTTP2 bool
	// InFlight bounds the gateway's concurrent requests to the upstream. If it is nil, there is no bound.
	InFlight *adaptive.Config
}

const upstreamAccepted = "http://, https:// or h2c://, a host, and optionally a port and a path, such as http://127.0.0.1:9000"

// ParseUpstream parses an upstream's URL. Its errors name the field url. It rejects a URL with a user and password,
// because they would not be sent. It also rejects a query and a fragment.
func ParseUpstream(name, text string) (*Upstream, error) {
	u, err := url.Parse(text)
	if err != nil || !reachable(u) || strings.ContainsAny(text, "?#") {
		return nil, engine.InvalidInput("url", engine.Quote(withoutUser(text)), upstreamAccepted)
	}
	clear := u.Scheme == clearHTTP2
	if clear {
		u.Scheme = "http"
	}
	return &Upstream{Name: name, URL: u, ClearHTTP2: clear}, nil
}

// clearHTTP2 is the scheme for HTTP/2 in clear text. It is not in an RFC, but is common in proxies.
const clearHTTP2 = "h2c"

// reachable reports whether HTTP can connect to the URL's host and port.
func reachable(u *url.URL) bool {
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	validPort := err == nil && port > 0 || u.Port() == "" && !strings.HasSuffix(u.Host, ":")
	return (u.Scheme == "http" || u.Scheme == "https" || u.Scheme == clearHTTP2) && u.Hostname() != "" && u.Opaque == "" && u.User == nil && validPort
}

// withoutUser removes the part of a URL that can contain a password.
func withoutUser(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if at := strings.LastIndexByte(rest, '@'); ok && at >= 0 {
		return scheme + "://…" + rest[at:]
	}
	return text
}
