package gateway

import (
	"net/http"
	"slices"
)

// exposed are the headers of a decision, which browsers hide from pages of other origins unless they are listed.
const exposed = "Retry-After, RateLimit, RateLimit-Policy, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id"

// origin returns the origin that the gateway's own answers to a request are shared with, or "".
func (g *Gateway) origin(h http.Header) string {
	from := h.Get("Origin")
	switch {
	case from == "":
		return ""
	case slices.Contains(g.config.Origins, from):
		return from
	case slices.Contains(g.config.Origins, "*"):
		return "*"
	default:
		return ""
	}
}

// share lets the page that sent the request read an answer of the gateway itself. Without it, a browser reports a denial
// as a network error.
func (e *exchange) share(h http.Header) {
	if e.origin == "" {
		return
	}
	h.Set("Access-Control-Allow-Origin", e.origin)
	if e.origin != "*" {
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Add("Vary", "Origin")
	}
	h.Set("Access-Control-Expose-Headers", exposed)
}

// expose lets the page read the headers of the decision in an upstream's answer, if the upstream shares the answer.
func (e *exchange) expose(h http.Header) {
	if e.origin != "" && h.Get("Access-Control-Allow-Origin") != "" {
		h.Add("Access-Control-Expose-Headers", exposed)
	}
}
