package admin

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/server/policies"
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
}

// refusal is an error with its status.
type refusal struct {
	status        int
	field, detail string
}

func (r *refusal) Error() string { return r.detail }

// badField is the error of an invalid field.
func badField(field, detail string) error {
	return &refusal{http.StatusBadRequest, field, field + ": " + detail}
}

var statuses = map[service.Code]int{
	service.Invalid:     http.StatusBadRequest,
	service.NotFound:    http.StatusNotFound,
	service.WrongVerb:   http.StatusUnprocessableEntity,
	service.Forbidden:   http.StatusForbidden,
	service.Unavailable: http.StatusServiceUnavailable,
}

func problemOf(err error) problem {
	p := problem{Status: http.StatusServiceUnavailable, Detail: strings.TrimPrefix(err.Error(), "headgate: ")}
	var tooLarge *http.MaxBytesError
	var own *refusal
	var decided *service.Error
	var input *headgate.InputError
	switch {
	case errors.As(err, &tooLarge):
		p.Status, p.Detail = http.StatusRequestEntityTooLarge, "body is larger than 128 KiB"
	case errors.As(err, &own):
		p.Status, p.Field = own.status, own.field
	case errors.As(err, &decided):
		p.Status, p.Field = statuses[decided.Code], decided.Field
	case errors.As(err, &input):
		p.Status, p.Field = http.StatusBadRequest, input.Field
	case errors.Is(err, policies.ErrNoChange):
		p.Status = http.StatusNotFound
	case errors.Is(err, policies.ErrConflict):
		p.Status = http.StatusConflict
	case errors.Is(err, policies.ErrTooMany):
		p.Status = http.StatusUnprocessableEntity
	}
	return p
}

func writeProblem(w http.ResponseWriter, status int, field, detail string) {
	write(w, status, "application/problem+json", problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Field: field})
}

func writeJSON(w http.ResponseWriter, v any) { write(w, http.StatusOK, "application/json", v) }

func write(w http.ResponseWriter, status int, contentType string, v any) {
	data, err := json.Marshal(v)
	if err != nil { // no value of this package fails
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
}
