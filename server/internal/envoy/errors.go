package envoy

// Code is the class of an error.
type Code uint8

const (
	// Unknown is the code of every error with envoyproxy/ratelimit's semantics, with one exception: if a failure mode
	// is set, an unknown decision has the code Unavailable.
	Unknown Code = iota
	// InvalidArgument means that a field of the request is invalid.
	InvalidArgument
	// FailedPrecondition means that no configuration is loaded.
	FailedPrecondition
	// Unavailable means that the decision is not known.
	Unavailable
)

// Error is the reason why a request was not decided, in envoyproxy/ratelimit's wording.
type Error struct {
	Code Code
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// invalid returns the error for a request. Its code is Unknown unless the semantics are improved.
func (s *Service) invalid(code Code, err error) *Error {
	if s.options.Semantics != Improved {
		code = Unknown
	}
	return &Error{Code: code, Err: err}
}

// notKnown returns the error for a request whose decision is not known.
func (s *Service) notKnown(err error) *Error {
	if s.options.Semantics == Original && s.options.Failure == nil {
		return &Error{Code: Unknown, Err: err}
	}
	return &Error{Code: Unavailable, Err: err}
}
