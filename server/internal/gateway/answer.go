package gateway

import (
	"errors"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/headgate/headgate/adaptive"
	"github.com/headgate/headgate/httplimit/wire"
	"github.com/headgate/headgate/server/internal/service"
)

// answered handles the header of an upstream's response. It counts the response, reports it to the adaptive limits, and
// replaces its rate-limit headers with the gateway's, if a route has decided the request. Its error is always nil.
func (g *Gateway) answered(r *http.Response) error {
	e := r.Request.Context().Value(exchangeKey{}).(*exchange)
	e.answered = true
	e.upstream.class(r.StatusCode)
	if e.permit != nil {
		e.ended(r.StatusCode)
	}
	if e.decided {
		e.outcomes(r.StatusCode, r.Header)
		e.responses[0].ReplaceHeaders(r.Header)
		service.Expose(r.Header, e.origin)
	}
	return nil
}

// failed answers a request that got no answer from its upstream. If the upstream is at fault and the route refunds
// errors, failed gives the units back. They stay spent if the response header had arrived, or if the client ended the
// request.
func (g *Gateway) failed(w http.ResponseWriter, r *http.Request, err error) {
	e := r.Context().Value(exchangeKey{}).(*exchange)
	switch broken := e.body.failed(); {
	case broken != nil:
		e.upstream.clientGone.Add(1)
		e.broken(w, broken)
		return
	case e.Err() != nil:
		e.upstream.clientGone.Add(1)
		e.refuse(w, wire.NewProblem(http.StatusServiceUnavailable, "", "the request ended before the upstream answered"))
		return
	}
	if strings.Contains(err.Error(), tooLargeForPeer) {
		e.outcome = adaptive.Ignored
		e.refuse(w, tooLarge("as much as the upstream takes"))
		return
	}
	p := wire.NewProblem(http.StatusBadGateway, "", "the upstream cannot be reached, or ended the connection")
	if timedOut(err) {
		p = wire.NewProblem(http.StatusGatewayTimeout, "", "the upstream did not answer in time")
	}
	if !e.answered {
		e.upstream.failure(p.Status)
		if e.permit != nil {
			e.ended(http.StatusGatewayTimeout)
		}
		e.outcomes(p.Status, nil)
		if e.refund {
			g.undo(e)
		}
	}
	g.failures.Warn(g.config.Logger, "upstream failed", "upstream", e.upstream.Name, "error", err)
	e.refuse(w, p)
}

// broken answers a request whose body ended early.
func (e *exchange) broken(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	if errors.Is(err, os.ErrDeadlineExceeded) {
		status = http.StatusRequestTimeout
	}
	w.Header().Set("Connection", "close")
	e.refuse(w, wire.NewProblem(status, "", "the body of the request did not come to its end"))
}

// tooLargeForPeer is the text of the only refusal of our own transport that [invalid] cannot foresee: an upstream
// announces over HTTP/2 how large a request's headers may be. It is not a failure of the upstream (bug 92).
const tooLargeForPeer = "request header list larger than peer's advertised limit"

// outcomes reports the outcome of a request at the upstream to the route's adaptive limits. The header is nil if there
// was no response.
func (e *exchange) outcomes(status int, h http.Header) {
	if report := e.responses[0].Outcome; report != nil {
		report(wire.Outcome(status, h))
	}
}

// timedOut reports whether an upstream accepted the connection but did not answer in time. A timeout of the dial
// itself counts as away instead.
func timedOut(err error) bool {
	var timeout net.Error
	var op *net.OpError
	return errors.As(err, &timeout) && timeout.Timeout() && (!errors.As(err, &op) || op.Op != "dial")
}
