// Package problem writes the answers of the HTTP listeners: JSON, and errors as RFC 9457
// defines them.
package problem

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/requestid"
	"github.com/headgate/headgate/server/service"
)

// Problem is an error.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Field is the invalid field of the request; absent if the error is not about one.
	Field string `json:"field,omitempty"`
	// RequestID is that of the request; absent in a batch, whose answer has it as a header.
	RequestID string `json:"request_id,omitempty"`
	// Violated are the policies that denied the request.
	Violated []string `json:"violated-policies,omitempty"`
}

var statuses = map[service.Code]int{
	service.Invalid:     http.StatusBadRequest,
	service.NotFound:    http.StatusNotFound,
	service.WrongVerb:   http.StatusUnprocessableEntity,
	service.Forbidden:   http.StatusForbidden,
	service.Unavailable: http.StatusServiceUnavailable,
}

// Of returns the problem of an error of the service, or of a body that is larger than it
// may be; ok is false for other errors.
func Of(err error) (p Problem, ok bool) {
	var decided *service.Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &decided):
		return New(statuses[decided.Code], decided.Field, strings.TrimPrefix(decided.Error(), "headgate: ")), true
	case errors.As(err, &tooLarge):
		return New(http.StatusRequestEntityTooLarge, "", "body is larger than "+size(tooLarge.Limit)), true
	default:
		return Problem{}, false
	}
}

func size(bytes int64) string {
	if bytes%(1<<20) == 0 {
		return fmt.Sprint(bytes>>20, " MiB")
	}
	return fmt.Sprint(bytes>>10, " KiB")
}

// New returns a problem; field is the name of the field that it is about, or "".
func New(status int, field, detail string) Problem {
	return Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Field: field, Detail: detail}
}

// Denied is the problem of a request with a route that a limit denied.
func Denied(status int, r *decide.Response) Problem {
	return Problem{
		Type:  "https://iana.org/assignments/http-problem-types#quota-exceeded",
		Title: "Request cannot be satisfied as assigned quota has been exceeded", Status: status, Detail: "the rate limit is reached", Violated: []string{r.Policy},
	}
}

// NoKey is the problem of a request that lacks a part of the key of its route. It has the status of the
// route, unless the caller asks for denied, another status than 429: nginx passes on 401 and 403 alone.
func NoKey(denied int, lack *httplimit.NoKeyError) Problem {
	status := lack.Status
	if denied != http.StatusTooManyRequests && status != http.StatusUnauthorized && status != http.StatusForbidden {
		status = denied
	}
	return New(status, "", lack.Detail())
}

// Write answers a request with the problem, and with the request's id if it has one. An
// answer that may soon be another one is not to be stored.
func (p Problem) Write(w http.ResponseWriter) {
	if p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests {
		w.Header().Set("Cache-Control", "no-store")
	}
	p.RequestID = w.Header().Get(requestid.Header)
	write(w, p.Status, "application/problem+json", p)
}

// NotFound answers a request for a path that does not exist.
func NotFound(w http.ResponseWriter, r *http.Request) {
	New(http.StatusNotFound, "", "no such path: "+r.URL.Path[:min(len(r.URL.Path), 128)]).Write(w)
}

// Methods answers requests by their method, and those of other methods with a problem. A
// method in the mux's pattern would answer others with plain text. GET includes HEAD.
func Methods(handlers map[string]http.HandlerFunc) http.HandlerFunc {
	methods := slices.Sorted(maps.Keys(handlers))
	return func(w http.ResponseWriter, r *http.Request) {
		handle := handlers[r.Method]
		if handle == nil && r.Method == http.MethodHead {
			handle = handlers[http.MethodGet]
		}
		if handle != nil {
			handle(w, r)
			return
		}
		w.Header().Set("Allow", strings.Join(methods, ", "))
		New(http.StatusMethodNotAllowed, "", "method must be "+strings.Join(methods, " or ")).Write(w)
	}
}

// WriteJSON answers a request with a value.
func WriteJSON(w http.ResponseWriter, status int, v any) { write(w, status, "application/json", v) }

// WriteText answers a request with a value that is JSON already, with its line's end.
func WriteText(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // a failed write means that the client is gone
}

// JSON returns the problem as JSON.
func (p Problem) JSON() []byte {
	data, err := json.Marshal(p)
	if err != nil { // texts and numbers can be encoded
		return []byte("{}")
	}
	return data
}

func write(w http.ResponseWriter, status int, contentType string, v any) {
	data, err := json.Marshal(v)
	if err != nil { // no value of the listeners fails
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a failed write means that the client is gone
}
