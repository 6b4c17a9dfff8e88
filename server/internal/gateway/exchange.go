package gateway

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/headgate/headgate/adaptive"
	"github.com/headgate/headgate/httplimit/wire"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/problem"
	"github.com/headgate/headgate/server/internal/requestid"
	"github.com/headgate/headgate/server/internal/service"
)

// exchange is a request in progress. It is also the context of the request to the upstream.
type exchange struct {
	context.Context //nolint:containedctx // it ends with the request

	origin    string      // the page's origin that can read the gateway's own answers, "*", or ""
	client    netip.Addr  // the address that has a share of the requests; the zero Addr on a Unix socket
	body      *clientBody // nil if there is no body
	upstream  *upstream
	requests  [1]decide.Request
	responses [1]decide.Response
	grpc      bool             // the client speaks gRPC
	connect   bool             // the client speaks Connect
	kind      string           // the content type of the request
	decided   bool             // a route has decided; if not, no limit applies
	refund    bool             // the units are given back if the upstream fails
	answered  bool             // the header of the upstream's answer has arrived
	permit    *adaptive.Permit // the upstream's permit, or nil if it does not bound its requests
	outcome   adaptive.Outcome // reported when the permit is released
}

type exchangeKey struct{}

// Value implements [context.Context].
func (e *exchange) Value(key any) any {
	if key == (exchangeKey{}) {
		return e
	}
	return e.Context.Value(key)
}

// admit sets the request's upstream, decides the request by its route, and waits for its slot if a pacer delays it. It
// returns true if the request may be forwarded. Otherwise it has answered the request.
func (g *Gateway) admit(w http.ResponseWriter, r *http.Request, e *exchange) bool {
	described, err := route.FromHTTP(r)
	if err == nil {
		err = g.config.Service.CheckRead(&described)
	}
	if err != nil {
		g.refused(service.Malformed)
		e.refuse(w, wire.NewProblem(http.StatusBadRequest, "", err.Error()))
		return false
	}
	request, ok := g.config.Service.Route(&described)
	if !ok {
		return g.unmatched(w, r, e, &described)
	}
	to := request.Route.Route
	if !g.to(w, r, e, to.Upstream) {
		return false
	}
	request.Undoable, request.Holds = true, true
	e.requests[0], e.decided, e.refund = request, true, to.RefundOnError
	g.config.Service.Do(e, service.Gateway, e.requests[:], e.responses[:])
	response := &e.responses[0]
	if response.Permits != nil {
		response.Permits.Hold(e)
	}
	if response.Err != nil || !response.Allowed {
		p, _ := problem.OfRoute(w.Header(), http.StatusTooManyRequests, &e.requests[0], response)
		e.refuse(w, p)
		return false
	}
	if response.Delay <= 0 {
		return true
	}
	bounded := e.permit != nil
	if bounded { // a waiting request is not at the upstream
		e.release(adaptive.Ignored)
	}
	if !g.wait(w, r, e, response.Delay) {
		return false
	}
	if bounded && !e.acquire(w) {
		g.undo(e)
		return false
	}
	return true
}

// unmatched passes a request without a route to the default upstream, or answers it with 404. It passes a preflight to
// the upstream of the request that it asks about.
func (g *Gateway) unmatched(w http.ResponseWriter, r *http.Request, e *exchange, described *route.Request) bool {
	var upstream *route.Upstream
	to, preflight := g.config.Service.Preflighted(described)
	switch {
	case preflight:
		upstream = to.Upstream
	case g.config.DenyUnmatched:
		g.stats.UnmatchedDenied.Add(1)
		e.refuse(w, wire.NewProblem(http.StatusNotFound, "", "no route is for this request"))
		return false
	}
	g.stats.UnmatchedPassed.Add(1)
	return g.to(w, r, e, upstream)
}

// to sets the upstream of a request to u or, if u is nil, to the gateway's default upstream, and acquires the
// upstream's permit. It answers the request and returns false if there is no upstream, or if the upstream cannot have a
// websocket or is overloaded.
func (g *Gateway) to(w http.ResponseWriter, r *http.Request, e *exchange, u *route.Upstream) bool {
	if u == nil {
		u = g.config.Upstream
	}
	if u == nil {
		g.refused(service.NoUpstream)
		e.refuse(w, wire.NewProblem(http.StatusBadGateway, "", "no upstream is for this request"))
		return false
	}
	if u.ClearHTTP2 && r.Header["Upgrade"] != nil {
		g.refused(service.Malformed)
		e.refuse(w, wire.NewProblem(http.StatusBadRequest, "", "the upstream of this request speaks HTTP/2, which has no upgrade; accepted: a request without Upgrade"))
		return false
	}
	e.upstream = g.counted(u)
	return e.acquire(w)
}

// refused counts a request that the gateway refuses before a decision.
func (g *Gateway) refused(why service.Refusal) { g.config.Service.Refused(service.Gateway, why) }

// refuse answers a request with a problem, in the client's protocol and with the request's id.
func (e *exchange) refuse(w http.ResponseWriter, p wire.Problem) {
	w.Header().Set(requestid.Header, requestid.From(e))
	e.body.leave()
	service.Share(w.Header(), e.origin)
	switch {
	case e.grpc:
		writeGRPC(w, &p)
	case e.connect:
		writeConnect(w, &p, e.kind)
	default:
		p.Write(w)
	}
}
