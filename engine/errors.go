package engine

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// The errors of stores, which callers match with [errors.Is]. A denial is none of
// them: it is an [Outcome].
var (
	// ErrInvalid is what every [InputError] is: a limit that cannot be built, a key,
	// a cost or an operation that no store could decide.
	ErrInvalid = errors.New("headgate: invalid input")
	// ErrStoreUnavailable means that the decision is not known: the store could not
	// be asked, or could not take the key.
	ErrStoreUnavailable = errors.New("headgate: store unavailable")
	// ErrOutcomeUnknown means that an operation may or may not have been charged: its
	// answer was lost. Such an error is an ErrStoreUnavailable too.
	ErrOutcomeUnknown = errors.New("headgate: outcome unknown")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("headgate: closed")
)

// InputError says which field of a limit or request cannot be accepted. Nothing
// was changed. It matches [ErrInvalid].
type InputError struct {
	// Field is the name used in configuration files: "burst", "key", "cost".
	Field string
	// Value is what was given, as text, cut at 128 bytes.
	Value string
	// Accepted says what would be: "1 to 4294967295".
	Accepted string
}

// Error names the field, the value and what is accepted.
func (e *InputError) Error() string {
	return fmt.Sprintf("headgate: %s is %s; accepted: %s", e.Field, e.Value, e.Accepted)
}

// Is makes every InputError match ErrInvalid.
func (e *InputError) Is(target error) bool { return target == ErrInvalid }

// remark is a value that is told as it is, while text from outside is quoted.
type remark string

func invalid(field string, value any, accepted string) error {
	text := fmt.Sprint(value)
	switch v := value.(type) {
	case remark:
	case string:
		text = strconv.Quote(v[:min(len(v), 128)])
	case time.Duration:
		text = formatSpan(v)
	}
	return &InputError{Field: field, Value: text, Accepted: accepted}
}
