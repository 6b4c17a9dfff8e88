// Package rpc presents gRPC and Connect calls to package httplimit as HTTP requests, and converts httplimit's
// responses to codes, so that keys, routes and rules are the same for gRPC, Connect and HTTP.
package rpc

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
)

// These are the gRPC codes, shared by Connect, for the middleware's responses.
const (
	InvalidArgument   = 3
	PermissionDenied  = 7
	ResourceExhausted = 8
	Internal          = 13
	Unavailable       = 14
	Unauthenticated   = 16
)

// statuses lists the HTTP status for each code, as in google.rpc.Code.
var statuses = [...]int{200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401}

// Status returns the HTTP status for a code, such as 200 for 0 (OK) or 401 for 16 (unauthenticated).
func Status(code uint32) int {
	if code < uint32(len(statuses)) {
		return statuses[code]
	}
	return http.StatusInternalServerError
}

// Request returns a call as an HTTP request: a POST to the call's procedure, such as /package.Service/Method.
func Request(ctx context.Context, procedure, host, peer string, header http.Header) *http.Request {
	r := &http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: procedure}, Host: host, RemoteAddr: peer, Header: header,
		Proto: "HTTP/2.0", ProtoMajor: 2, Body: http.NoBody, ContentLength: -1, // the message's size is unknown
	}
	return r.WithContext(ctx)
}

// Answer is a ResponseWriter that keeps a refusal's headers and status, but not its body.
type Answer struct {
	header http.Header
	status int
}

// NewAnswer returns an empty Answer.
func NewAnswer() *Answer { return &Answer{header: http.Header{}} }

// Header returns the headers.
func (a *Answer) Header() http.Header { return a.header }

// Write discards the body.
func (a *Answer) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader records the status.
func (a *Answer) WriteHeader(status int) { a.status = status }

// Code returns the code for the refusal. No status from 400 to 499 becomes Unavailable, which clients repeat.
func (a *Answer) Code() uint32 {
	switch {
	case a.status == http.StatusTooManyRequests:
		return ResourceExhausted
	case a.status == http.StatusUnauthorized:
		return Unauthenticated
	case a.status == http.StatusForbidden:
		return PermissionDenied
	case a.status/100 == 4:
		return InvalidArgument
	case a.status == http.StatusInternalServerError:
		return Internal
	default:
		return Unavailable
	}
}

// Limits calls set for Retry-After and for each rate-limit header.
func (a *Answer) Limits(set func(name, value string)) {
	for name, values := range a.header {
		if strings.Contains(strings.ToLower(name), "ratelimit") || name == "Retry-After" {
			for _, value := range values {
				set(name, value)
			}
		}
	}
}

// Message returns the reason for the refusal.
func Message(a *Answer, c *httplimit.Admission) string {
	if denied, ok := errors.AsType[*headgate.DeniedError](c.Decision.Err()); ok {
		return denied.Error()
	}
	switch a.Code() {
	case ResourceExhausted:
		return "denied"
	case Internal:
		return "the policy of the rate limit is invalid"
	case Unavailable:
		return "the rate limit is not known"
	default:
		return "the call lacks a part of its key, or the key is too long"
	}
}
