package gateway

import (
	"net/http"
	"net/http/httputil"
	"slices"
	"time"

	"github.com/headgate/headgate/adaptive"
	"github.com/headgate/headgate/httplimit/wire"
)

// forward forwards a request to its upstream.
func (g *Gateway) forward(w http.ResponseWriter, r *http.Request, e *exchange) {
	out := r.WithContext(e)
	e.outcome = adaptive.Abandoned // until the upstream answers
	if e.body != nil {
		e.body.deadline(time.Now().Add(e.body.stall)) // in case an upstream answers without reading the body
		out.Body = e.body
	}
	g.proxy.ServeHTTP(w, out)
}

// rewrite prepares the request to the upstream. It keeps the client's Host, and the announced trailers.
func (g *Gateway) rewrite(p *httputil.ProxyRequest) {
	e := p.In.Context().Value(exchangeKey{}).(*exchange)
	p.SetURL(e.upstream.URL)
	p.Out.Host = p.In.Host
	p.Out.Trailer = nil
	if e.body != nil && e.body.trailers != nil {
		p.Out.Trailer = e.body.trailers.out
	}
	g.setForwarded(p)
}

// setForwarded sets the headers that tell the upstream the client's address. Headers from a trusted peer are
// forwarded with the peer's address appended. dropForged has already removed the headers of other peers.
func (g *Gateway) setForwarded(p *httputil.ProxyRequest) {
	in, out := p.In.Header, p.Out.Header
	if !g.config.Service.Proxies().Trusts(wire.Peer(p.In)) {
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
