package envoy

import "google.golang.org/grpc/codes"

// Error is the reason why a request was not decided, in envoyproxy/ratelimit's wording.
type Error struct {
	// Code is codes.Unknown for every error with envoyproxy/ratelimit's semantics, with one exception: if a failure mode
	// is set, an unknown decision has the code Unavailable.
	Code codes.Code
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// invalid returns the error for a request. Its code is Unknown unless the semantics are improved.
func (s *Service) invalid(code codes.Code, err error) *Error {
	if s.options.Semantics != Improved {
		code = codes.Unknown
	}
	return &Error{Code: code, Err: err}
}

// notKnown returns the error for a request whose decision is not known.
func (s *Service) notKnown(err error) *Error {
	if s.options.Semantics == Original && s.options.Failure == nil {
		return &Error{Code: codes.Unknown, Err: err}
	}
	return &Error{Code: codes.Unavailable, Err: err}
}
