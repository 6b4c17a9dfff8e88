package service

import (
	"net/http"
	"slices"
)

// Origins are the origins whose pages can read the server's own answers to their requests, such as
// https://app.example.com; "*" means any origin, without credentials.
type Origins []string

// Exposed are the headers of a decision, which browsers hide from pages of other origins unless they are listed.
const Exposed = "Retry-After, RateLimit, RateLimit-Policy, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id"

// Of returns the origin that answers to a request with these headers are shared with, or "".
func (o Origins) Of(h http.Header) string {
	from := h.Get("Origin")
	switch {
	case from == "":
		return ""
	case slices.Contains(o, from):
		return from
	case slices.Contains(o, "*"):
		return "*"
	default:
		return ""
	}
}

// Share lets a page of an origin from Of read an answer. Without it, a browser reports a denial as a network error.
func Share(h http.Header, origin string) {
	if origin == "" {
		return
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if origin != "*" {
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Add("Vary", "Origin")
	}
	h.Set("Access-Control-Expose-Headers", Exposed)
}

// ShareDenial lets the page that sent a described request read its denial.
func (s *Service) ShareDenial(h, described http.Header) { Share(h, s.config.Origins.Of(described)) }

// Expose lets a page of an origin from Of read the headers of the decision in an upstream's answer, if the upstream
// shares the answer.
func Expose(h http.Header, origin string) {
	if origin != "" && h.Get("Access-Control-Allow-Origin") != "" {
		h.Add("Access-Control-Expose-Headers", Exposed)
	}
}
