package httpclient

import (
	"io"
	"net/http"
	"slices"
	"time"
)

// The retry budget of a scope: each request earns retryShare of a retry, and a scope saves up to retryBurst retries, so
// that retries add at most a tenth to the load.
const (
	retryShare = 0.1
	retryBurst = 10
)

// denied reports whether a response is a denial: status 429, or 403 or 503 with Retry-After.
func denied(answer *http.Response) bool {
	switch answer.StatusCode {
	case http.StatusTooManyRequests:
		return true
	case http.StatusForbidden, http.StatusServiceUnavailable:
		return answer.Header.Get("Retry-After") != ""
	default:
		return false
	}
}

var idempotentMethods = []string{"", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete}

// repeatable reports whether a request can be sent twice: its method or an Idempotency-Key allows it, and its body,
// if any, can be recreated. It never buffers a body.
func repeatable(r *http.Request) bool {
	idempotent := slices.Contains(idempotentMethods, r.Method) || r.Header.Get("Idempotency-Key") != "" || r.Header.Get("X-Idempotency-Key") != ""
	return idempotent && (r.Body == nil || r.Body == http.NoBody || r.GetBody != nil)
}

// again returns the request to send for a retry: a copy with a fresh body, or r itself if it has no body.
func again(r *http.Request) (*http.Request, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	copied := r.WithContext(r.Context())
	copied.Body = body
	return copied, nil
}

// spendRetry takes a retry from the budget.
func (s *scope) spendRetry() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retries < 1 {
		return false
	}
	s.retries--
	return true
}

// Bounds on reading the body of a denial. Reading the body allows the connection to be reused.
const (
	maxDrained  = 4 << 10
	drainWithin = time.Second
)

func drain(answer *http.Response) {
	if answer.Body == nil { // of a test's transport; http.Client accepts it
		return
	}
	tooSlow := time.AfterFunc(drainWithin, func() { _ = answer.Body.Close() })
	defer tooSlow.Stop()
	_, _ = io.CopyN(io.Discard, answer.Body, maxDrained)
	_ = answer.Body.Close()
}

// shouldRetry decides whether to retry after the response to attempt number try, counted from 0.
func (t *Transport) shouldRetry(r *http.Request, answer *http.Response, s *scope, try int) bool {
	if !denied(answer) || try >= t.retries || !repeatable(r) || r.Context().Err() != nil {
		return false
	}
	wait := s.soonest()
	if deadline, ok := r.Context().Deadline(); wait > t.maxWait || ok && time.Until(deadline) < wait {
		return false // the caller gets the denial itself
	}
	return s.spendRetry()
}
