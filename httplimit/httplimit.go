package httplimit

import (
	"net/http"

	"github.com/headgate/headgate"
)

// Decider decides HTTP requests. The limiter of a policies file is one: see package
// policy.
type Decider interface {
	AllowRequest(r *http.Request) (headgate.Decision, error)
}

// Option changes the middleware.
type Option func(*middleware)

// WithHeaders chooses the form of the rate-limit headers. The default is [Draft].
func WithHeaders(style Style) Option { return func(m *middleware) { m.style = style } }

// WithCost charges a request what cost returns; 0 charges nothing. The default is 1. A
// negative cost is an error, as [WithError] answers it.
func WithCost(cost func(*http.Request) int64) Option { return func(m *middleware) { m.cost = cost } }

// WithDenied replaces the answer to a denied request. The headers are already set. The
// default writes a problem of RFC 9457 with status 429.
func WithDenied(denied func(http.ResponseWriter, *http.Request, headgate.Decision)) Option {
	return func(m *middleware) { m.denied = denied }
}

// WithError replaces the answer to a request whose decision is not known: the store does
// not answer, or the key or cost is invalid. The default answers 503.
func WithError(failed func(w http.ResponseWriter, r *http.Request, next http.Handler, err error)) Option {
	return func(m *middleware) { m.failed = failed }
}

// FailOpen serves a request whose decision is not known. It is for [WithError].
func FailOpen(w http.ResponseWriter, r *http.Request, next http.Handler, _ error) {
	next.ServeHTTP(w, r)
}

// New returns middleware that charges each request on a policy, under the key of the
// request. A request without a key is answered 400: see [Key].
func New(policy *headgate.Policy, key Key, options ...Option) func(http.Handler) http.Handler {
	m := newMiddleware(options)
	m.decide = func(r *http.Request) (headgate.Decision, int64, error) {
		name, ok := key(r)
		if !ok {
			return headgate.Decision{}, 0, errNoKey
		}
		cost := int64(1)
		if m.cost != nil {
			cost = m.cost(r)
		}
		d, err := policy.AllowN(r.Context(), name, cost)
		return d, cost, err
	}
	return m.wrap
}

// By returns middleware that lets a decider decide each request. [WithCost] has no
// meaning here.
func By(decider Decider, options ...Option) func(http.Handler) http.Handler {
	m := newMiddleware(options)
	m.decide = func(r *http.Request) (headgate.Decision, int64, error) {
		d, err := decider.AllowRequest(r)
		return d, max(1, d.Granted), err
	}
	return m.wrap
}

type middleware struct {
	decide func(*http.Request) (d headgate.Decision, cost int64, err error)
	style  Style
	cost   func(*http.Request) int64
	denied func(http.ResponseWriter, *http.Request, headgate.Decision)
	failed func(http.ResponseWriter, *http.Request, http.Handler, error)
}

func newMiddleware(options []Option) *middleware {
	m := &middleware{style: Draft, denied: writeDenied, failed: writeFailed}
	for _, option := range options {
		option(m)
	}
	return m
}

func (m *middleware) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, cost, err := m.decide(r)
		if err != nil {
			m.failed(w, r, next, err)
			return
		}
		m.writeHeaders(w.Header(), &d, cost)
		if !d.Allowed {
			m.denied(w, r, d)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// writeHeaders writes the binding limit of a decision.
func (m *middleware) writeHeaders(h http.Header, d *headgate.Decision, cost int64) {
	if !d.Allowed {
		RetryAfter(h, d.RetryAfter)
	}
	if d.Unlimited || d.Limit == 0 && d.Binding.Rate == (headgate.Rate{}) {
		return
	}
	m.style.Write(h, limitOf(d, cost))
}
