package httplimit

import (
	"errors"
	"net/http"

	"github.com/headgate/headgate"
)

// Option changes the middleware.
type Option func(*Middleware)

// WithHeaders chooses the form of the rate-limit headers. The default is what the policies of a file
// name, or else [Draft].
func WithHeaders(style Style) Option { return func(m *Middleware) { m.style = style } }

// WithPolicy chooses the policy of a request, such as that of the customer's plan. If
// choose returns nil, the policy of [New] decides. Each policy has its own counters. With
// an invalid policy a request is answered 500.
func WithPolicy(choose func(*http.Request) *headgate.Policy) Option {
	return func(m *Middleware) { m.choose = choose }
}

// WithCost charges a request what cost returns; 0 charges nothing. The default is 1. A
// negative cost is an error, as [WithError] answers it.
func WithCost(cost func(*http.Request) int64) Option { return func(m *Middleware) { m.cost = cost } }

// WithFinalCost corrects the charge of a request when its handler has answered: see
// [Rule]. A request is charged first, so that requests at the same time cannot pass
// together where only one may; the rate-limit headers have that charge. With [By] it needs
// a [Settler].
func WithFinalCost(rule Rule) Option { return func(m *Middleware) { m.finalCost = rule } }

// WithDenied replaces the answer to a denied request. The headers are already set. The
// default writes a problem of RFC 9457 with status 429.
func WithDenied(denied func(http.ResponseWriter, *http.Request, headgate.Decision)) Option {
	return func(m *Middleware) { m.denied = denied }
}

// WithError replaces the answer to a request whose decision is not known: the store does
// not answer, or the key, the cost or the chosen policy is invalid. The default answers 503,
// 400 where the request is at fault, and 500 where the policy is. [FailOpen] serves the
// request.
func WithError(failed func(w http.ResponseWriter, r *http.Request, next http.Handler, err error)) Option {
	return func(m *Middleware) { m.failed = failed }
}

// FailOpen serves a request while the store does not answer. It is for [WithError]. A
// request that lacks its key, or has one that is too long, is still answered 400: a
// client must not pass by leaving a header out.
func FailOpen(w http.ResponseWriter, r *http.Request, next http.Handler, err error) {
	if errors.Is(err, ErrNoKey) || errors.Is(err, headgate.ErrInvalid) {
		writeFailed(w, r, next, err)
		return
	}
	next.ServeHTTP(w, r)
}
