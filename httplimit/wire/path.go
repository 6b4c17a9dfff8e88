package wire

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

type anyCaseKey struct{}

// AnyCase marks a request of a server that finds handlers by paths in any case, as fiber does by default. The routes of
// a policies file match such a request in any case too. Adapters call it.
func AnyCase(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), anyCaseKey{}, true))
}

// IsAnyCase reports whether [AnyCase] has marked a request.
func IsAnyCase(r *http.Request) bool { return r.Context().Value(anyCaseKey{}) != nil }

// Routed returns a request with the path that a framework's router has matched with a pattern, such as
// /users/:id/*. Routers differ on whether an encoded slash (%2F) separates two segments, and have a setting for it. If
// it does, the path of the result is decoded. Adapters call it.
func Routed(r *http.Request, pattern string) *http.Request {
	if r.URL.RawPath == "" || pattern == "" || !strings.Contains(pattern, "*") && strings.Count(pattern, "/") == strings.Count(r.URL.RawPath, "/") {
		return r
	}
	routed := *r
	routed.URL = &url.URL{}
	*routed.URL = *r.URL
	routed.URL.RawPath = ""
	return &routed
}
