package gateway

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/headgate/headgate/policy/route"
)

// hopByHop lists the hop-by-hop headers other than Connection, Upgrade and Te.
var hopByHop = []string{"Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Trailer", "Transfer-Encoding", "Http2-Settings"}

// dropHopByHop removes hop-by-hop headers. The upstream does not receive them, so no route may see them. Otherwise a
// client could be charged to a key that the upstream never sees. Connection, Upgrade and Te are reduced to a
// websocket's handshake and "trailers", because after an Upgrade to h2c the connection would carry unlimited requests.
// If Connection names other headers, [invalid] refuses the request.
func dropHopByHop(h http.Header) {
	connection := h["Connection"]
	websocket := httpguts.HeaderValuesContainsToken(connection, "upgrade") && isWebsocket(h["Upgrade"])
	trailers := httpguts.HeaderValuesContainsToken(h["Te"], "trailers")
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
// one name, and no proxy writes underscores. It also removes the headers that replace the method, because an
// application that reads them would run another method than the one that the routes have seen.
func dropForged(h http.Header, trusted bool) {
	for name := range h {
		plain := plainName(name)
		if describes(plain) && (!trusted || plain != name) || slices.Contains(route.MethodOverrides, plain) {
			delete(h, name)
		}
	}
}

// plainName returns a header's name with hyphens in place of underscores.
func plainName(name string) string {
	if !strings.Contains(name, "_") {
		return name
	}
	return textproto.CanonicalMIMEHeaderKey(strings.ReplaceAll(name, "_", "-"))
}

// describes reports whether proxies use a header to describe their client or its request.
func describes(name string) bool {
	return slices.ContainsFunc(describingPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) || slices.Contains(describing, name)
}

var describingPrefixes = []string{"X-Forwarded", "X-Original-", "X-Envoy-", "X-Amzn-Mtls-", "X-Ssl-Client-", "Ssl-Client-"}

var describing = []string{
	"Forwarded", "Forwarded-For", "X-Real-Ip", "X-Client-Ip", "Client-Ip", "X-Cluster-Client-Ip", "True-Client-Ip", "X-Rewrite-Url",
	"Cf-Connecting-Ip", "Cf-Connecting-Ipv6", "Cf-Pseudo-Ipv4", "Fastly-Client-Ip", "Fly-Client-Ip", "X-Azure-Clientip", "X-Azure-Socketip", "X-Appengine-User-Ip",
	"Proxy-Client-Ip", "Wl-Proxy-Client-Ip", "X-Proxyuser-Ip", "X-Remote-Ip", "X-Remote-Addr", "Remote-Addr", "X-Originating-Ip",
	"X-Coming-From", "Coming-From", "Forwarded-For-Ip", "Do-Connecting-Ip", "Akamai-Client-Ip", "X-Nf-Client-Connection-Ip", "X-Vercel-Forwarded-For",
	"Incap-Client-Ip", "X-Sucuri-Clientip", "X-Sucuri-Client-Ip", "Ali-Cdn-Real-Ip", "Cdn-Src-Ip", "X-Cdn-Src-Ip", "X-True-Client-Ip", "X-Appengine-Remote-Addr",
	"X-Host", "X-Http-Host-Override",
	"Client-Cert", "Client-Cert-Chain", "X-Client-Cert", "X-Arr-Clientcert",
}
