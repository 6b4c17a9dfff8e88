package httplimit

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine/algo"
)

// quotaExceeded is the type of problem that IANA lists for a denied request.
const quotaExceeded = "https://iana.org/assignments/http-problem-types#quota-exceeded"

// problem is an error as RFC 9457 defines it.
type problem struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail,omitempty"`
	Violated []string `json:"violated-policies,omitempty"`
}

func writeDenied(w http.ResponseWriter, _ *http.Request, d headgate.Decision) {
	p := problem{Type: quotaExceeded, Title: "Request cannot be satisfied as assigned quota has been exceeded", Status: http.StatusTooManyRequests}
	if d.Binding.Policy != "" {
		p.Violated = []string{d.Binding.Policy}
	}
	p.write(w)
}

// errNoPolicy is the error of a program that gave no policy for a request.
var errNoPolicy = errors.New("httplimit: no policy: New had none, and WithPolicy returned none")

// errNoSettler is the error of a program that wants a final cost from a decider that only
// decides.
var errNoSettler = errors.New("httplimit: WithFinalCost needs a Settler, such as the limiter of a policies file; this Decider is none")

// policyError is the error of a program that chose an invalid policy for a request.
type policyError struct{ cause error }

func (e *policyError) Error() string { return "httplimit: " + e.cause.Error() }
func (e *policyError) Unwrap() error { return e.cause }

// Is makes every policyError match ErrInvalid: [FailOpen] does not serve the request.
func (e *policyError) Is(target error) bool { return target == headgate.ErrInvalid }

// policyErr returns why no request can be charged on a policy, or nil.
func policyErr(policy *headgate.Policy) error {
	for _, limit := range policy.Limits() {
		if limit.Err() == nil && limit.Algorithm() == algo.Concurrency {
			return fmt.Errorf("policy %q: headgate: limit is concurrency; accepted: limits that a request is charged on, without slots", policy.Name())
		}
	}
	return policy.Err()
}

func writeFailed(w http.ResponseWriter, _ *http.Request, _ http.Handler, err error) {
	p := problem{Type: "about:blank", Status: http.StatusServiceUnavailable, Detail: "the rate limit is not known"}
	var input *headgate.InputError
	var lack *NoKeyError
	var mistake *policyError
	switch {
	case errors.As(err, &lack):
		p.Status, p.Detail = lack.Status, lack.Detail()
	case errors.As(err, &mistake):
		p.Status, p.Detail = http.StatusInternalServerError, mistake.cause.Error()
	case errors.Is(err, ErrNoKey):
		p.Status, p.Detail = http.StatusBadRequest, noKey
	case errors.As(err, &input):
		p.Status, p.Detail = http.StatusBadRequest, "the request cannot be counted: "+input.Field
	}
	p.Title = http.StatusText(p.Status)
	w.Header().Set("Cache-Control", "no-store")
	p.write(w)
}

func (p *problem) write(w http.ResponseWriter) {
	body, err := json.Marshal(p)
	if err != nil { // impossible: texts and numbers can be encoded
		http.Error(w, p.Title, p.Status)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // a failed write means that the client is gone
}
