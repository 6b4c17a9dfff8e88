package httplimit

import (
	"errors"
	"net/http"
	"strings"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit/wire"
)

// deny responds to a denied request.
func (m *Middleware) deny(w http.ResponseWriter, r *http.Request, c *Admission) {
	if m.denied != nil {
		m.denied(w, r, c.Decision)
		return
	}
	wire.QuotaExceeded(http.StatusTooManyRequests, c.Decision.Full, c.Decision.Binding.Policy, c.countedBy).Write(w)
}

// errNoMiddleware is the cause of the error if the program uses a nil or zero Middleware.
var errNoMiddleware = errors.New("no middleware: NewMiddleware and MiddlewareBy return one")

// errNoRequest is the cause of the error for a nil request.
var errNoRequest = errors.New("request is nil; accepted: the request of an http.Handler")

// The causes of the error if the program sets no policy for a request.
var (
	errNoPolicy     = errors.New("no policy: New had none, and WithPolicy returned none")
	errNoItemPolicy = errors.New("no policy: an item of AllOf has none, and its Choose returned none")
)

// errNoSettler is the cause of the error if the program uses a final cost with a decider that is not a Settler.
var errNoSettler = errors.New("WithFinalCost needs a Settler, such as the limiter of a policies file; this Decider is none")

// programError is the error for a request whose policy or cost, as chosen by the program, is invalid.
type programError struct{ cause error }

func (e *programError) Error() string {
	return "httplimit: " + strings.TrimPrefix(e.cause.Error(), "headgate: ")
}
func (e *programError) Unwrap() error { return e.cause }

// Is makes every programError match ErrInvalid, so that [FailOpen] does not serve the request.
func (e *programError) Is(target error) bool { return target == headgate.ErrInvalid }

// fail responds to a request that could not be decided.
func (m *Middleware) fail(w http.ResponseWriter, r *http.Request, next http.Handler, err error) {
	if m == nil || m.failed == nil {
		writeFailed(w, r, next, err)
		return
	}
	m.failed(w, r, next, err)
}

func writeFailed(w http.ResponseWriter, _ *http.Request, _ http.Handler, err error) {
	w.Header().Set("Cache-Control", "no-store")
	problemOf(err).Write(w)
}

// problemOf returns the problem that responds to a request that could not be decided.
func problemOf(err error) Problem {
	var input *engine.InputError
	var lack *NoKeyError
	var mistake *programError
	switch {
	case errors.As(err, &lack):
		return lack.Problem()
	case errors.As(err, &mistake):
		return wire.NewProblem(http.StatusInternalServerError, "", mistake.cause.Error())
	case errors.Is(err, ErrNoKey):
		return (*NoKeyError)(nil).Problem()
	case errors.As(err, &input):
		return wire.NewProblem(http.StatusBadRequest, input.Field, "the request cannot be counted: "+input.Field+"; accepted: "+input.Accepted)
	case errors.Is(err, headgate.ErrInvalid): // of a decider that the program did not set up
		return wire.NewProblem(http.StatusInternalServerError, "", err.Error())
	default:
		return wire.NewProblem(http.StatusServiceUnavailable, "", "the rate limit is not known")
	}
}
