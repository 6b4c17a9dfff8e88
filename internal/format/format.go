// Package format formats values for responses, logs and messages.
package format

import (
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
)

// Ceil returns d in the given unit, rounded up, so that a caller that waits for this long is not too early. A negative
// d is rounded toward zero.
func Ceil(d, unit time.Duration) int64 {
	whole := int64(d / unit)
	if d%unit > 0 {
		whole++
	}
	return whole
}

// Millis returns d in ms, rounded up.
func Millis(d time.Duration) int64 { return Ceil(d, time.Millisecond) }

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

// Invalid returns the error for an invalid value of a field.
func Invalid(field, value, accepted string) error {
	return &engine.InputError{Field: field, Value: value, Accepted: accepted}
}

// Counted formats a number with its noun, as in "1 key" or "2 keys".
func Counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Grouped(n) + " " + noun + "s"
}

// Grouped formats a number with spaces between groups of three digits, as in 1 234 567.
func Grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return sign + text
}
