package service

import (
	"errors"
	"fmt"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/policy"
)

// Request is one question, whatever the wire it came by.
type Request struct {
	// Kind is OpTake, OpPeek, OpGive, OpReset or OpExpiry.
	Kind engine.Kind
	// Policy names the limit. Where it is empty, Limit or Limits is the limit.
	Policy string
	// Limit is the limit that came with the request.
	Limit headgate.Limit
	// Limits are several limits that came with the request, all or nothing;
	// nil where there is one.
	Limits []headgate.Limit
	// Key is who.
	Key string
	// Cost is the units; HasCost is false where the request named none and
	// the policy's own applies (1 where there is no policy).
	Cost    int64
	HasCost bool
}

// Response is the answer.
type Response struct {
	// Policy is the policy whose limit is binding, "" for inline limits.
	Policy string
	// Requested is the policy that was asked for; nil for inline limits.
	Requested *policy.Policy
	// Decision is the answer, where Err is nil.
	Decision headgate.Decision
	// Parts are the limits that the decision is made of, in order, for
	// headers and for answers with several.
	Parts []Part
	// Found and TTL answer OpReset and OpExpiry.
	Found bool
	TTL   time.Duration
	// Err is an *Error, or nil.
	Err error
}

// Part is one limit's own answer.
type Part struct {
	// Policy is whose limit it is, "" for inline limits.
	Policy string
	// Limit is the limit itself.
	Limit headgate.Limit
	// State is what is left of it.
	State headgate.LimitDecision
}

// Code is the class of an error, which each front end writes its own way.
type Code uint8

// The codes.
const (
	// Invalid: the request is malformed.
	Invalid Code = iota
	// NotFound: there is no such policy.
	NotFound
	// WrongVerb: the limit is not for this verb.
	WrongVerb
	// Forbidden: the server does not do this for clients.
	Forbidden
	// Unavailable: the decision is not known.
	Unavailable
)

// Error is a request that was not decided.
type Error struct {
	Code Code
	// Field is the request's field at fault, "" where none is.
	Field string
	Err   error
}

// public is an error that has words for clients: the operator's own may name
// machines and what they said.
type public interface {
	error
	Public() string
}

// Error says what is wrong, in words for clients.
func (e *Error) Error() string {
	if p, ok := errors.AsType[public](e.Err); ok {
		return p.Public()
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrWritesOff is the cause of Forbidden.
var ErrWritesOff = errors.New("writes by clients are off; the server's --allow-writes turns them on")

func unknownPolicy(name string) *Error {
	return &Error{Code: NotFound, Field: "policy", Err: fmt.Errorf("no policy %q", name[:min(len(name), 128)])}
}

// classify gives the library's errors their code.
func classify(err error) *Error {
	var input *headgate.InputError
	switch {
	case errors.As(err, &input) && input.Field == "limit":
		return &Error{Code: WrongVerb, Field: "limit", Err: err}
	case errors.As(err, &input):
		return &Error{Code: Invalid, Field: input.Field, Err: err}
	default:
		return &Error{Code: Unavailable, Err: err}
	}
}
