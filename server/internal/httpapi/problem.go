package httpapi

import (
	"net/http"

	"github.com/headgate/headgate/httplimit/wire"
	"github.com/headgate/headgate/server/internal/problem"
	"github.com/headgate/headgate/server/internal/service"
)

// refusalFor returns the reason why a request is refused with an error.
func refusalFor(err error) service.Refusal {
	switch p := problemOf(err); p.Status {
	case http.StatusForbidden:
		return service.NoRight
	case http.StatusRequestEntityTooLarge:
		return service.TooLarge
	default:
		return service.Malformed
	}
}

// problemOf returns the problem for a request's error.
func problemOf(err error) wire.Problem {
	if p, ok := problem.Of(err); ok {
		return p
	}
	// The connection failed while the body was read.
	return wire.NewProblem(http.StatusBadRequest, "", "body could not be read: "+err.Error())
}
