// Package verdict turns what the service has decided on a request with a route into an
// answer of HTTP. /v1/authorize, Envoy's external authorization and the gateway share it.
package verdict

import (
	"net/http"

	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/problem"
	"github.com/headgate/headgate/server/rateheaders"
)

// Of adds the rate-limit headers of a decision to h. ok is true if the request may pass;
// otherwise p is the answer: with the status denied if a limit denied the request, with that of
// the route if it lacks a part of its key, and with that of the error if the decision is not known.
func Of(h http.Header, denied int, q *decide.Request, r *decide.Response) (p problem.Problem, ok bool) {
	if r.Err != nil {
		p, _ = problem.Of(r.Err) // every error of the service has a problem
		return p, false
	}
	rateheaders.Write(h, q, r)
	if r.Decision.Allowed {
		return p, true
	}
	h.Set("Cache-Control", "no-store")
	if lack := q.Route.NoKey; lack != nil {
		return problem.NoKey(denied, lack), false
	}
	return problem.Denied(denied, r), false
}
