package headgate

import (
	"errors"
	"fmt"

	"github.com/headgate/headgate/engine"
)

// The errors that callers match with [errors.Is]. A denial is none of them: it is a
// [Decision].
var (
	// ErrInvalid is what every [InputError] is: a limit that cannot be built, a key,
	// a cost or a request that no store could decide.
	ErrInvalid = engine.ErrInvalid
	// ErrDenied is what every [DeniedError] is.
	ErrDenied = errors.New("headgate: denied")
	// ErrStoreUnavailable means that the decision is not known: the store could not
	// be asked, or could not take the key.
	ErrStoreUnavailable = engine.ErrStoreUnavailable
	// ErrOutcomeUnknown means that a request may or may not have been charged: its
	// answer was lost. Such an error is an ErrStoreUnavailable too.
	ErrOutcomeUnknown = engine.ErrOutcomeUnknown
	// ErrClosed is returned after Close.
	ErrClosed = engine.ErrClosed
	// ErrPermitLost means that a permit expired or was released before it was
	// renewed: somebody else may hold its units.
	ErrPermitLost = errors.New("headgate: permit lost")
)

// InputError says which field of a limit or request cannot be accepted, its value and
// what is accepted. Nothing was changed. It matches [ErrInvalid].
type InputError = engine.InputError

// DeniedError is a denial as an error, for callers who write
// `if err := …; err != nil`. [Decision.Err] makes it. It matches [ErrDenied].
type DeniedError struct {
	// Decision is the whole answer.
	Decision Decision
}

// Error names the violated limit and when to come back: `headgate: denied by
// "default": 5/1m: retry after 12.345s`.
func (e *DeniedError) Error() string {
	d := &e.Decision
	when := "retry after " + d.RetryAfter.String()
	if d.RetryAfter == Never {
		when = "this can never pass"
	}
	return fmt.Sprintf("headgate: denied by %q: %s: %s", d.Binding.Name, d.Binding.Rate, when)
}

// Is makes every DeniedError match ErrDenied.
func (e *DeniedError) Is(target error) bool { return target == ErrDenied }
