package headgate

import (
	"errors"
	"fmt"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
)

// The errors that callers match with [errors.Is]. A denial is not an error: it is a [Decision].
var (
	// ErrInvalid matches every error caused by invalid input: a limit that cannot be built, or a key, a cost or a
	// request that no store can decide. Nothing was changed. [errors.As] finds an [*engine.InputError], which names the
	// field, its value and the accepted values.
	ErrInvalid = engine.ErrInvalid
	// ErrDenied matches every [DeniedError].
	ErrDenied = errors.New("headgate: denied")
	// ErrStoreUnavailable means that the decision is not known, because the store did not answer or could not take the
	// key.
	ErrStoreUnavailable = engine.ErrStoreUnavailable
	// ErrOutcomeUnknown means that a request may or may not have been charged, because its answer was lost. Such an
	// error also matches ErrStoreUnavailable.
	ErrOutcomeUnknown = engine.ErrOutcomeUnknown
	// ErrClosed is returned after Close by every method that would call the store.
	ErrClosed = engine.ErrClosed
	// ErrEnded means that a permit or reservation had already ended before the call: it had expired, been released or
	// been settled. Another caller may hold its units.
	ErrEnded = core.ErrEnded
)

// DeniedError is a denial as an error, for callers that write `if err := …; err != nil`.
// [Decision.Err] returns it. It matches [ErrDenied].
type DeniedError struct {
	// Decision is the denial.
	Decision Decision
}

// Error names the limit that denied, what it allows and when to retry:
// `headgate: denied by "mails": 5/1m: retry after 12.345s`.
func (e *DeniedError) Error() string {
	if e == nil {
		return ErrDenied.Error()
	}
	d := &e.Decision
	when := "retry after " + d.RetryAfter.String()
	if d.RetryAfter == Never {
		when = "this can never pass"
	}
	return fmt.Sprintf("headgate: denied by %q: %s: %s", d.Binding.fullName(), d.Binding.amount(), when)
}

// amount formats the binding limit's rate for an error: "5/1m", "5 at once", or "nothing".
func (b *Binding) amount() string {
	switch {
	case b.Rate == Rate{}:
		return "nothing"
	case b.Rate.Period == 0 && b.Rate.Months == 0:
		return fmt.Sprint(b.Rate.Count, " at once")
	default:
		return b.Rate.String()
	}
}

// Is makes every DeniedError match ErrDenied.
func (e *DeniedError) Is(target error) bool { return target == ErrDenied }
