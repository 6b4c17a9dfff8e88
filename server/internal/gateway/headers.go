package gateway

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// hopByHop lists the hop-by-hop headers other than Connection, Upgrade and Te.
var hopByHop = []string{"Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Trailer", "Transfer-Encoding"}

// dropHopByHop removes hop-by-hop headers and the headers named by Connection. The upstream does not receive them, so
// no route may see them. Otherwise a client could be charged to a key that the upstream never sees. Connection, Upgrade
// and Te are reduced to a websocket's handshake and "trailers", because after an Upgrade to h2c the connection would
// carry unlimited requests.
//
// A trusted proxy forwards its client's Connection header. Therefore headers written by the proxy itself stay
// (regression: bug 68, Traefik's CVE-2024-45410).
func dropHopByHop(h http.Header) {
	connection := h["Connection"]
	websocket := httpguts.HeaderValuesContainsToken(connection, "upgrade") && isWebsocket(h["Upgrade"])
	trailers := httpguts.HeaderValuesContainsToken(h["Te"], "trailers")
	for _, line := range connection {
		for token := range strings.SplitSeq(line, ",") {
			if token = textproto.TrimString(token); !isProxys(token) {
				h.Del(token)
			}
		}
	}
	for _, name := range hopByHop {
		delete(h, name)
	}
	keepOnly(h, "Connection", "Upgrade", websocket)
	keepOnly(h, "Upgrade", "websocket", websocket)
	keepOnly(h, "Te", "trailers", trailers)
}

// keepOnly sets a header to value if keep is true, and removes it otherwise.
func keepOnly(h http.Header, name, value string, keep bool) {
	switch _, there := h[name]; {
	case keep:
		h[name] = []string{value}
	case there:
		delete(h, name)
	}
}

func isWebsocket(upgrade []string) bool {
	return len(upgrade) == 1 && strings.EqualFold(strings.TrimSpace(upgrade[0]), "websocket")
}

// dropForged removes the headers that proxies use to describe a request, because some applications trust these
// headers. If trusted is true, it removes only the spellings with underscores: CGI and WSGI merge both spellings under
// one name, and no proxy writes underscores.
func dropForged(h http.Header, trusted bool) {
	for name := range h {
		plain := name
		if strings.Contains(name, "_") {
			plain = textproto.CanonicalMIMEHeaderKey(strings.ReplaceAll(name, "_", "-"))
		}
		if describes(plain) && (!trusted || plain != name) {
			delete(h, name)
		}
	}
}

// describes reports whether proxies use a header to describe their client or its request.
func describes(name string) bool {
	return slices.ContainsFunc(describingPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) || slices.Contains(describing, name)
}

var describingPrefixes = []string{"X-Forwarded", "X-Original-", "X-Envoy-", "X-Amzn-Mtls-", "X-Ssl-Client-", "Ssl-Client-"}

var describing = []string{
	"Forwarded", "Forwarded-For", "X-Real-Ip", "X-Client-Ip", "Client-Ip", "X-Cluster-Client-Ip", "True-Client-Ip", "X-Rewrite-Url",
	"Cf-Connecting-Ip", "Cf-Connecting-Ipv6", "Cf-Pseudo-Ipv4", "Fastly-Client-Ip", "Fly-Client-Ip", "X-Azure-Clientip", "X-Azure-Socketip", "X-Appengine-User-Ip",
	"Proxy-Client-Ip", "Wl-Proxy-Client-Ip", "X-Proxyuser-Ip",
	"Client-Cert", "Client-Cert-Chain", "X-Client-Cert", "X-Arr-Clientcert",
}

// isProxys reports whether a header is one that proxies write, because it describes the client or contains a
// request's trace or id.
func isProxys(name string) bool {
	name = textproto.CanonicalMIMEHeaderKey(name)
	return strings.HasPrefix(name, "X-B3-") || slices.Contains(tracing, name) || describes(name)
}

// tracing lists the headers with the id and the trace of a request.
var tracing = []string{
	"Traceparent", "Tracestate", "Baggage", "B3", "X-Request-Id", "X-Correlation-Id", "X-Amzn-Trace-Id", "X-Cloud-Trace-Context",
}
