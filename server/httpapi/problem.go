package httpapi

import (
	"errors"
	"net/http"
	"strings"

	"github.com/headgate/headgate/server/requestid"
	"github.com/headgate/headgate/server/service"
)

// problem is an error as RFC 9457 defines it.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Field is the invalid field of the request; absent if the error is not about one.
	Field string `json:"field,omitempty"`
	// RequestID is that of the request; absent in a batch, whose answer has it as a header.
	RequestID string `json:"request_id,omitempty"`
}

var statuses = map[service.Code]int{
	service.Invalid:     http.StatusBadRequest,
	service.NotFound:    http.StatusNotFound,
	service.WrongVerb:   http.StatusUnprocessableEntity,
	service.Forbidden:   http.StatusForbidden,
	service.Unavailable: http.StatusServiceUnavailable,
}

func problemOf(err error) problem {
	var e *service.Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &e):
		return problem{Status: statuses[e.Code], Field: e.Field, Detail: strings.TrimPrefix(e.Error(), "headgate: ")}
	case errors.As(err, &tooLarge):
		return problem{Status: http.StatusRequestEntityTooLarge, Detail: "body is larger than 1 MiB"}
	default: // the connection failed while the body was read
		return problem{Status: http.StatusBadRequest, Detail: "body could not be read: " + err.Error()}
	}
}

// complete returns the problem with its type and title.
func (p problem) complete() problem {
	p.Type, p.Title = "about:blank", http.StatusText(p.Status)
	return p
}

func writeProblem(w http.ResponseWriter, p problem) {
	if p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests {
		w.Header().Set("Cache-Control", "no-store")
	}
	p.RequestID = w.Header().Get(requestid.Header)
	writeJSON(w, p.Status, "application/problem+json", p.complete())
}
