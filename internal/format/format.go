// Package format formats values for responses, logs and messages.
package format

import (
	"strconv"
	"strings"
	"time"
	"unicode"
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

// Printable replaces each unprintable character of a text that somebody else wrote by '?', so that it can neither control
// a terminal nor end a comment.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
