package admin

import (
	"errors"
	"net/http"
	"strings"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/dashboard/topkeys"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/server/policies"
	"github.com/headgate/headgate/server/problem"
)

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

// problemOf returns the problem of an error of a call.
func problemOf(err error) httplimit.Problem {
	if p, ok := problem.Of(err); ok {
		return p
	}
	status, field := http.StatusServiceUnavailable, ""
	var own *refusal
	var bad *topkeys.FieldError
	var input *headgate.InputError
	switch {
	case errors.As(err, &own):
		status, field = own.status, own.field
	case errors.As(err, &bad):
		status, field = http.StatusBadRequest, bad.Field
	case errors.As(err, &input):
		status, field = http.StatusBadRequest, input.Field
	case errors.Is(err, policies.ErrNoChange):
		status = http.StatusNotFound
	case errors.Is(err, policies.ErrConflict):
		status = http.StatusConflict
	case errors.Is(err, policies.ErrTooMany):
		status = http.StatusUnprocessableEntity
	}
	return httplimit.NewProblem(status, field, strings.TrimPrefix(err.Error(), "headgate: "))
}
