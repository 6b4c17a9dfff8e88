package service

import (
	"errors"
	"fmt"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
)

// Request is one request, from any front end.
type Request struct {
	// Kind is OpAllow, OpPeek, OpGive, OpReset, OpExpiry, OpReserve, OpSettle, OpAcquire,
	// OpRenew or OpRelease.
	Kind engine.Kind
	// Policy is the name of a policy. If it is empty, Limit or Limits applies.
	Policy string
	// Limit is an inline limit.
	Limit headgate.Limit
	// Limits are several inline limits, all or nothing; nil if there is only Limit.
	Limits []headgate.Limit
	// Route is the route of an HTTP request, as [Service.Route] found it: its policies
	// are charged, all or none.
	Route *route.Match
	// Undoable asks for [Response.Charged]. It is for requests with a route.
	Undoable bool
	// Key is what the request is counted under, or its hash is ([Config.HashKeys]).
	Key string
	// Counted is the hash of Key, if it is not that of the first secret; "" otherwise.
	Counted string
	// Cost is the number of units. If HasCost is false, the request named none: the
	// policy's own cost applies, or 1 for an inline limit.
	Cost    int64
	HasCost bool
	// ID identifies the holder of a permit: of OpRenew and OpRelease, what the acquire
	// answered; of OpAcquire, the client's choice, or "" for one that other clients cannot guess.
	ID string
	// MaxDelay is the longest delay that the caller of OpReserve accepts. A caller that names none
	// may not look at the delay, and would use units that come later at once.
	MaxDelay time.Duration
	// Reservation is for OpSettle: what the reserve answered. Cost is then the units that
	// were used, and no other field is read.
	Reservation string
}

// Response is the answer to a Request.
type Response struct {
	// Policy is the name of the policy whose limit is binding, "" for inline limits.
	Policy string
	// Requested is the policy that the request named, and of a route the one whose limit is
	// binding; nil for inline limits.
	Requested *policy.Policy
	// Decision is valid if Err is nil.
	Decision headgate.Decision
	// Limits are the answers of the single limits in order. A single inline limit
	// has none: its answer is the decision.
	Limits []LimitAnswer
	// Found and TTL are the answer to OpReset and OpExpiry: whether the key has state,
	// and for how long. Found also answers OpRelease, whether the holder had a permit,
	// and OpSettle, whether this request settled the reservation.
	Found bool
	TTL   time.Duration
	// Reservation answers OpReserve: what settles it, signed.
	Reservation string
	// Charged answers an Undoable request that was charged and that may have to be undone: of
	// a route that refunds, or with a delay. Its Cancel gives the units back, once.
	Charged *headgate.Reservation
	// ID and Lease answer OpAcquire and OpRenew: the holder's id, and how long the
	// permit lasts unless it is renewed.
	ID    string
	Lease time.Duration
	// Err is an *Error, or nil.
	Err error
}

// LimitAnswer is the answer of one limit of a decision.
type LimitAnswer struct {
	// Policy is the name of the limit's policy, "" for inline limits.
	Policy string
	Limit  headgate.Limit
	// Cost is what the limit was to be charged: the policies of a route have costs of their own.
	Cost     int64
	Decision engine.LimitOutcome
}

// Code is the class of an error. Each front end has its own form for it.
type Code uint8

// The codes.
const (
	// Invalid: a field of the request is invalid.
	Invalid Code = iota
	// NotFound: the policy does not exist.
	NotFound
	// WrongVerb: the limit is invalid, or not for this verb.
	WrongVerb
	// Forbidden: the server does not let clients do this.
	Forbidden
	// Unavailable: the decision is not known.
	Unavailable
)

// Error says why a request was not decided.
type Error struct {
	Code Code
	// Field is the invalid field of the request, "" if the error is not about one.
	Field string
	Err   error
}

// public is an error with a text for clients. The full text is for the operator: it can
// contain addresses and the replies of servers.
type public interface {
	error
	Public() string
}

// Error returns the text for clients.
func (e *Error) Error() string {
	if p, ok := errors.AsType[public](e.Err); ok {
		return p.Public()
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes every error of a request match [headgate.ErrInvalid]. An error of code
// Unavailable is none.
func (e *Error) Is(target error) bool { return target == headgate.ErrInvalid && e.Code != Unavailable }

// unknownPolicy is the error for a policy that does not exist.
func unknownPolicy(name string) *Error {
	return &Error{Code: NotFound, Field: "policy", Err: fmt.Errorf("no policy %q", name[:min(len(name), 128)])}
}

// classify returns an error of the library with its code.
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
