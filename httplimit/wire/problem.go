package wire

import (
	"encoding/json"
	"net/http"

	"github.com/headgate/headgate/internal/errcode"
)

// Problem is an RFC 9457 problem, the body of an error response.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Field is the invalid field of the request. It is omitted if the error does not concern a field.
	Field string `json:"field,omitempty"`
	// Code is the anchor of the error's section in docs/reference/errors.md, such as "not_found". It is omitted for a
	// denial by a limit and for statuses that are not on that page.
	Code string `json:"code,omitempty"`
	// RequestID is the id of the request. [Problem.Write] takes it from the X-Request-Id header of the response.
	RequestID string `json:"request_id,omitempty"`
	// Violated lists the policies that denied the request.
	Violated []string `json:"violated-policies,omitempty"`
}

// requestID is the header with the request's id, in net/http's canonical form.
const requestID = "X-Request-Id"

// NewProblem returns a problem, with the code for its status. The argument field is the name of the invalid field. It is
// "" if the error does not concern a field.
func NewProblem(status int, field, detail string) Problem {
	return Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Code: errcode.OfStatus(status), Field: field,
	}
}

// QuotaExceeded returns the problem for a request denied by a limit of a policy, with the type registered at IANA. The
// policy's name can be "". countedBy describes the key if the request has several, such as "header X-API-Key". Otherwise
// it is "". full is set for a denial for lack of room, which has a code of its own.
func QuotaExceeded(status int, full bool, policy, countedBy string) Problem {
	if full {
		p := NewProblem(status, "", "there is no room for a new key")
		p.Code = errcode.Full
		return p
	}
	p := Problem{
		Type:  "https://iana.org/assignments/http-problem-types#quota-exceeded",
		Title: "Request cannot be satisfied as assigned quota has been exceeded", Status: status, Detail: "the rate limit is reached",
	}
	if policy != "" {
		p.Violated = []string{policy}
	}
	if countedBy != "" {
		p.Detail += ": " + policy + ", counted by " + countedBy
	}
	return p
}

// Problem returns the problem for a request that lacks a part of its key.
func (e *NoKeyError) Problem() Problem {
	status := http.StatusBadRequest
	if e != nil && e.Status != 0 {
		status = e.Status
	}
	p := NewProblem(status, "", e.Detail())
	p.Code = errcode.NoKey
	return p
}

// Write responds to a request with the problem, including the request's id if there is one. Responses with status 429
// or 503 are marked as not cacheable. A 503 without a Retry-After gets one of 1 s to 4 s. A Status outside 100 to 999,
// which net/http does not accept, is written as 500.
func (p Problem) Write(w http.ResponseWriter) {
	if p.Status < 100 || p.Status > 999 {
		p.Status = http.StatusInternalServerError
	}
	h := w.Header()
	if p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests {
		h.Set("Cache-Control", "no-store")
	}
	if p.Status == http.StatusServiceUnavailable && h.Get("Retry-After") == "" {
		RetryAfter(h, overloadWait())
	}
	if id := h[requestID]; len(id) > 0 {
		p.RequestID = id[0]
	}
	h.Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(p.JSON(), '\n')) // a failed write means that the client is gone
}

// JSON returns the problem as JSON.
func (p Problem) JSON() []byte {
	data, err := json.Marshal(p)
	if err != nil { // cannot happen: strings and numbers always encode
		return []byte("{}")
	}
	return data
}
