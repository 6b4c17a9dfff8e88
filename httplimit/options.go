package httplimit

import (
	"errors"
	"net/http"

	"github.com/headgate/headgate"
)

// Option changes the middleware.
type Option func(*Middleware)

// WithHeaders sets the style of the rate-limit headers. The default is the style in the policies file or, if it sets
// none, [Draft].
func WithHeaders(style Style) Option { return func(m *Middleware) { m.style = style } }

// WithPolicy chooses the policy for a request, such as the policy for the customer's plan. If choose returns nil, the
// policy of [New] applies. If that is nil too, or if the chosen policy is invalid, the request gets a 500. Each policy has
// its own counters. A request without a key gets its response first.
func WithPolicy(choose func(*http.Request) *headgate.Policy) Option {
	return func(m *Middleware) {
		require(choose != nil, "the argument of WithPolicy")
		m.choose = choose
	}
}

// WithCost charges a request the number of units that the function cost returns; 0 charges nothing, and no
// [WithFinalCost] either. The default is 1. A negative cost causes an error, which goes to [WithError].
func WithCost(cost func(*http.Request) int64) Option {
	return func(m *Middleware) {
		require(cost != nil, "the argument of WithCost")
		m.cost = cost
	}
}

// WithFinalCost corrects the charge of a request after its handler has run; see [FinalCost]. The request is charged first,
// so that concurrent requests cannot all pass on one unit. The rate-limit headers show this first charge. While such
// charges of a key are not corrected yet, the Retry-After of its denials is at most a second; with [By], only those of [AllOf]. If used
// with [By], WithFinalCost needs a [Settler].
func WithFinalCost(final FinalCost) Option {
	return func(m *Middleware) {
		require(final != nil, "the argument of WithFinalCost")
		m.finalCost = final
	}
}

// WithDenied replaces the response to a denied request. The headers are already set, but not the status, which would
// otherwise be 200. The default is an RFC 9457 problem with status 429.
func WithDenied(denied func(http.ResponseWriter, *http.Request, headgate.Decision)) Option {
	return func(m *Middleware) {
		require(denied != nil, "the argument of WithDenied")
		m.denied = denied
	}
}

// WithError replaces the response to a request that could not be decided: the store did not answer, or the key, the
// cost or the chosen policy is invalid. The default response is a 503, a 400 if the key is missing or invalid, or a 500
// if the cost or the chosen policy is invalid, or if there is no policy. [FailOpen] serves the request instead.
func WithError(failed func(w http.ResponseWriter, r *http.Request, next http.Handler, err error)) Option {
	return func(m *Middleware) {
		require(failed != nil, "the argument of WithError")
		m.failed = failed
	}
}

// FailOpen serves requests while the store does not answer. Pass it to [WithError]. A request whose key is missing or
// too long still gets a 400, so that clients cannot pass by omitting a header. A request with an invalid cost or policy
// still gets a 500, and every request a 503 after the limiter was closed: close it after the HTTP server. A request whose
// context has ended also gets a 503: clients could otherwise pass by leaving before the decision.
func FailOpen(w http.ResponseWriter, r *http.Request, next http.Handler, err error) {
	if errors.Is(err, ErrNoKey) || errors.Is(err, headgate.ErrInvalid) || errors.Is(err, headgate.ErrClosed) || r.Context().Err() != nil {
		writeFailed(w, r, next, err)
		return
	}
	next.ServeHTTP(w, r)
}
