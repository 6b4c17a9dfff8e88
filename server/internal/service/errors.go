package service

import (
	"errors"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
)

// Code is the class of an error. Each front end maps it to an error of its protocol.
type Code uint8

// The codes of errors.
const (
	// Invalid means that a field of the request is invalid.
	Invalid Code = iota
	// NotFound means that the policy does not exist.
	NotFound
	// WrongVerb means that the limit is invalid, or that the verb does not apply to it.
	WrongVerb
	// Forbidden means that the client may not make the request.
	Forbidden
	// Unavailable means that the decision is not known.
	Unavailable
)

// Error is the reason why a request was not decided.
type Error struct {
	Code Code
	// Field is the invalid field of the request. It is "" if the error does not concern a field.
	Field string
	Err   error
}

// public is an error with a separate text for clients. The full text is only for operators, because it can contain
// addresses and servers' replies.
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

// OfCharge returns the error for one charge of a request with several charges. Its text and field name the charge by
// place, its index from 0.
func OfCharge(place int, err error) *Error {
	e := classify(err)
	charge := "charges." + strconv.Itoa(place)
	of := Error{Code: e.Code, Field: charge, Err: errors.New(charge + ": " + strings.TrimPrefix(e.Error(), "headgate: "))}
	if e.Field != "" {
		of.Field += "." + e.Field
	}
	return &of
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether the error matches target. Every error matches [engine.ErrInvalid], except those with code
// Unavailable.
func (e *Error) Is(target error) bool { return target == engine.ErrInvalid && e.Code != Unavailable }

// classify returns a request's error with its code. For an unknown policy the text contains only the policy's name,
// because the client may not be allowed to learn the names of the other policies.
func classify(err error) *Error {
	if coded, ok := errors.AsType[*Error](err); ok {
		return coded
	}
	if item, ok := errors.AsType[*engine.ItemError](err); ok {
		return OfCharge(item.Item, item.Err)
	}
	if unknown, ok := errors.AsType[*decide.NoPolicyError](err); ok {
		return &Error{Code: NotFound, Field: "policy", Err: errors.New("no policy " + engine.Quote(unknown.Name))}
	}
	var input *engine.InputError
	switch {
	case errors.As(err, &input) && input.Field == "limit":
		return &Error{Code: WrongVerb, Field: "limit", Err: err}
	case errors.As(err, &input):
		return &Error{Code: Invalid, Field: input.Field, Err: err}
	default:
		return &Error{Code: Unavailable, Err: err}
	}
}
