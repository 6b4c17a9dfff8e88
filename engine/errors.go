package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The errors that stores return. Callers match them with [errors.Is]. A denial is not an error: it is an [Answer].
var (
	// ErrInvalid matches every [InputError]: the error for a limit that cannot be built, or for a key, a cost or an
	// operation that no store can decide.
	ErrInvalid = errors.New("headgate: invalid input")
	// ErrStoreUnavailable means that the decision is not known, because the store did not answer or could not take the
	// key.
	ErrStoreUnavailable = errors.New("headgate: store unavailable")
	// ErrOutcomeUnknown means that an operation may or may not have been charged, because its answer was lost. Such an
	// error also matches ErrStoreUnavailable.
	ErrOutcomeUnknown = errors.New("headgate: outcome unknown")
	// ErrClosed is returned by every method after Close.
	ErrClosed = errors.New("headgate: closed")
)

// Away reports whether err, from a store, means that the store is unavailable. An error may implement Away() bool to
// classify itself.
func Away(err error) bool {
	for _, other := range []error{context.Canceled, ErrClosed, ErrInvalid} {
		if errors.Is(err, other) {
			return false
		}
	}
	if told, ok := errors.AsType[interface {
		error
		Away() bool
	}](err); ok {
		return told.Away()
	}
	return errors.Is(err, ErrStoreUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// InputError is the error for a field of a limit or request whose value is not accepted. Nothing was changed. It
// matches [ErrInvalid].
type InputError struct {
	// Field is the field's name in configuration files: "burst", "key", "cost". For a limit built from a type of
	// package headgate, it is the field of that type: "Burst", "Rate.Count".
	Field string
	// Value is the given value as text, cut at 128 bytes.
	Value string
	// Accepted describes the accepted values: "1 to 281474976710655".
	Accepted string
	// Meant is the accepted value that was probably meant, such as 100/s for 100/sec. It is "" if there is none.
	Meant string
}

// Error names the field, the value, the value that was probably meant, and the accepted values.
func (e *InputError) Error() string {
	return fmt.Sprintf("headgate: %s is %s; %saccepted: %s", e.Field, e.Value, DidYouMean(e.Meant), e.Accepted)
}

// DidYouMean returns the question about the value that was probably meant, for an error. It comes before the accepted
// values, which can be many. It returns "" if meant is "".
func DidYouMean(meant string) string {
	if meant == "" {
		return ""
	}
	return "did you mean " + Quote(meant) + "? "
}

// Is makes every InputError match ErrInvalid.
func (e *InputError) Is(target error) bool { return target == ErrInvalid }

// ItemError is the error of one item of a list of charges.
type ItemError struct {
	// Item is the item's index, from 0.
	Item int
	// Err is the error, such as an [*InputError].
	Err error
}

// Error names the item.
func (e *ItemError) Error() string {
	return fmt.Sprintf("headgate: charges.%d: %s", e.Item, strings.TrimPrefix(e.Err.Error(), "headgate: "))
}

// Unwrap returns the error of the item.
func (e *ItemError) Unwrap() error { return e.Err }

// InvalidInput returns the [*InputError] for a value of a field. The value is as the error shows it: [Quote] quotes a
// caller's text.
func InvalidInput(field, value, accepted string) error {
	return &InputError{Field: field, Value: value, Accepted: accepted}
}

// maxQuoted is the maximum number of bytes of a caller's text that a message repeats.
const maxQuoted = 128

// Cut returns a caller's text of up to 128 bytes unchanged. For a longer text it returns the first 128 bytes without
// invalid UTF-8, followed by an ellipsis.
func Cut(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	return strings.ToValidUTF8(text[:maxQuoted], "") + "…"
}

// Quote shortens a caller's text with [Cut] and returns it quoted and escaped.
func Quote(text string) string { return strconv.Quote(Cut(text)) }

// remark is a value that errors show unquoted. Errors quote text that comes from callers.
type remark string

func invalid(field string, value any, accepted string) error {
	text := fmt.Sprint(value)
	switch v := value.(type) {
	case remark:
	case string:
		text = Quote(v)
	case time.Duration:
		text = FormatSpan(v)
	}
	return InvalidInput(field, text, accepted)
}
