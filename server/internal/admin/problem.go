package admin

import (
	"errors"
	"net/http"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit/wire"
	"github.com/headgate/headgate/server/internal/adminapi"
	"github.com/headgate/headgate/server/internal/policies"
	"github.com/headgate/headgate/server/internal/problem"
)

func problemOf(err error) wire.Problem {
	if p, ok := problem.Of(err); ok {
		return p
	}
	status, field := http.StatusServiceUnavailable, ""
	var own *adminapi.Error
	var input *engine.InputError
	switch {
	case errors.As(err, &own):
		status, field = own.Status, own.Field
	case errors.As(err, &input):
		status, field = http.StatusBadRequest, input.Field
	case errors.Is(err, policies.ErrNoChange):
		status = http.StatusNotFound
	case errors.Is(err, policies.ErrConflict):
		status = http.StatusConflict
	case errors.Is(err, policies.ErrTooMany):
		status = http.StatusUnprocessableEntity
	}
	p := wire.NewProblem(status, field, strings.TrimPrefix(err.Error(), "headgate: "))
	if own != nil && own.Code != "" {
		p.Code = own.Code
	}
	return p
}
