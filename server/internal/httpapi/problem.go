package httpapi

import (
	"net/http"

	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/server/internal/problem"
)

// problemOf returns the problem for a request's error.
func problemOf(err error) httplimit.Problem {
	if p, ok := problem.Of(err); ok {
		return p
	}
	// The connection failed while the body was read.
	return httplimit.NewProblem(http.StatusBadRequest, "", "body could not be read: "+err.Error())
}
