package policytest

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/route"
)

// HTTPRequest is an HTTP request as written by an operator.
type HTTPRequest struct {
	// Text is a method and a target, such as "POST /api/x?v=2"; the method defaults to GET.
	Text string
	// Host is the host. If it is "", the host from the target or a Host header is used.
	Host string
	// Client is the address from which the connection comes.
	Client string
	Header http.Header
	// BodySize is the size of the body in bytes, or -1 if it is unknown.
	BodySize int64
}

// Read converts h to a request that routes can match. The error is a *engine.InputError for the field request, client,
// body_size or headers.
func (h *HTTPRequest) Read() (r route.Request, err error) {
	words := strings.Fields(h.Text)
	if len(words) == 1 {
		words = []string{http.MethodGet, words[0]}
	}
	if len(words) != 2 || !route.IsToken(words[0]) {
		return r, engine.InvalidInput("request", engine.Quote(h.Text), "a method and a target, such as 'POST /api/x'")
	}
	r = route.Request{Method: words[0], Header: http.Header{}, Size: h.BodySize}
	r.SetTarget(words[1])
	if r.Size < -1 {
		return r, engine.InvalidInput("body_size", strconv.FormatInt(r.Size, 10), "-1 or more")
	}
	if r.Peer, err = netip.ParseAddr(h.Client); err != nil {
		return r, engine.InvalidInput("client", engine.Quote(h.Client), "an IP address")
	}
	for name, values := range h.Header {
		switch {
		case !route.IsToken(name):
			return r, engine.InvalidInput("headers", engine.Quote(name), "names of headers")
		case name == "Host":
			r.Host = values[0]
		default:
			r.Header[name] = values
		}
	}
	if h.Host != "" {
		r.Host = h.Host
	}
	return r, nil
}
