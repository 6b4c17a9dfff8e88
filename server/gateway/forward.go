package gateway

import (
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/headgate/headgate/httplimit"
)

// forward passes a request on.
func (g *Gateway) forward(w http.ResponseWriter, r *http.Request, e *exchange) {
	out := r.WithContext(e)
	if e.body != nil {
		e.body.deadline(time.Now().Add(e.body.stall)) // also for an upstream that answers and reads none of it
		out.Body = e.body
	}
	g.proxy.ServeHTTP(w, out)
}

// rewrite makes the request to the upstream. The Host stays that of the client, and so do
// trailers, which come after the body.
func (g *Gateway) rewrite(p *httputil.ProxyRequest) {
	e := p.In.Context().Value(exchangeKey{}).(*exchange)
	p.SetURL(e.upstream.URL)
	p.Out.Host = p.In.Host
	if p.In.Trailer != nil {
		p.Out.Trailer = p.In.Trailer // a copy would stay without values
	}
	if upgrade := p.Out.Header["Upgrade"]; upgrade != nil && !isWebsocket(upgrade) {
		// Behind an Upgrade to h2c the connection would carry requests that nothing limits.
		delete(p.Out.Header, "Upgrade")
		delete(p.Out.Header, "Connection")
	}
	g.setForwarded(p)
}

func isWebsocket(upgrade []string) bool {
	return len(upgrade) == 1 && strings.EqualFold(strings.TrimSpace(upgrade[0]), "websocket")
}

// setForwarded tells the upstream the address of the client. What a trusted peer says of that is
// passed on, with the peer's address appended. What anybody else says is dropped.
func (g *Gateway) setForwarded(p *httputil.ProxyRequest) {
	in, out := p.In.Header, p.Out.Header
	if !g.config.Service.Proxies().Trusts(httplimit.Peer(p.In)) {
		for _, name := range describing {
			delete(out, name)
		}
		p.SetXForwarded()
		return
	}
	if before := in["X-Forwarded-For"]; before != nil {
		out["X-Forwarded-For"] = slices.Clone(before)
	}
	p.SetXForwarded()
	for _, name := range []string{"Forwarded", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if said := in[name]; said != nil {
			out[name] = slices.Clone(said)
		}
	}
}

// describing are headers by which proxies describe a request, besides those that
// [httputil.ReverseProxy] removes itself. Some applications believe them.
var describing = []string{
	"X-Real-Ip", "X-Forwarded-Port", "X-Forwarded-Prefix", "X-Forwarded-Server", "X-Forwarded-Ssl", "X-Forwarded-Uri", "X-Forwarded-Method",
	"X-Original-Url", "X-Original-Uri", "X-Original-Method", "X-Original-Host", "X-Original-Forwarded-For", "X-Rewrite-Url",
}

// dropHopByHop removes the headers that Connection names. They are for this hop and the
// upstream does not get them, so no route may see them: a client could otherwise be charged
// on a key that the upstream never sees.
//
// A trusted proxy passes on its client's Connection. So the headers that the proxy itself
// wrote stay, and Connection loses their names (known bug 68, Traefik's CVE-2024-45410).
func dropHopByHop(h http.Header) {
	lines := h["Connection"]
	if len(lines) == 0 {
		return
	}
	var options []string
	for _, line := range lines {
		for token := range strings.SplitSeq(line, ",") {
			token = textproto.TrimString(token)
			switch {
			case isOption(token):
				options = append(options, token)
			case !isProxys(token):
				h.Del(token)
			}
		}
	}
	h["Connection"] = options
	if options == nil {
		delete(h, "Connection")
	}
}

// isProxys reports whether proxies write a header: about the client, the trace or the id of a
// request.
func isProxys(name string) bool {
	name = textproto.CanonicalMIMEHeaderKey(name)
	return strings.HasPrefix(name, "X-Forwarded-") || strings.HasPrefix(name, "X-B3-") || slices.Contains(describing, name) || slices.Contains(tracing, name)
}

// tracing are the headers with the id and the trace of a request.
var tracing = []string{
	"Forwarded", "Traceparent", "Tracestate", "Baggage", "B3", "X-Request-Id", "X-Correlation-Id", "X-Amzn-Trace-Id", "X-Cloud-Trace-Context",
}

// isOption reports whether a word in Connection is one that net/http reads itself.
func isOption(token string) bool {
	return strings.EqualFold(token, "keep-alive") || strings.EqualFold(token, "close") || strings.EqualFold(token, "upgrade") ||
		strings.EqualFold(token, "te") || strings.EqualFold(token, "connection")
}
