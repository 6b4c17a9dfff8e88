// Package jsontext rejects JSON that encoding/json would silently change: invalid text, which could turn two different
// keys from clients into one, and duplicate names.
package jsontext

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Check returns an error if the JSON is not valid UTF-8, or escapes only half of a surrogate pair. encoding/json reads
// both as U+FFFD.
func Check(data []byte) error {
	if !utf8.Valid(data) {
		at := 0
		for rest := data; ; {
			r, size := utf8.DecodeRune(rest)
			if r == utf8.RuneError && size <= 1 {
				return fmt.Errorf("byte 0x%02x at %d; accepted: UTF-8", data[at], at)
			}
			rest, at = rest[size:], at+size
		}
	}
	if at := halfPair(data); at >= 0 {
		return fmt.Errorf("%s at byte %d is half of a surrogate pair; accepted: both halves", data[at:at+6], at)
	}
	return nil
}

// halfPair returns the position of an escape for only half of a surrogate pair, or -1.
func halfPair(data []byte) int {
	for from := 0; ; {
		next := bytes.IndexByte(data[from:], '\\')
		if next < 0 {
			return -1
		}
		at := from + next
		first, ok := escaped(data[at:])
		switch {
		case !ok:
			from = min(at+2, len(data)) // another escape, such as \\
		case !utf16.IsSurrogate(first):
			from = at + 6
		default:
			second, ok := escaped(data[at+6:])
			if !ok || utf16.DecodeRune(first, second) == utf8.RuneError {
				return at
			}
			from = at + 12
		}
	}
}

// escaped decodes a \u escape at the start of data. ok is false if data does not begin with a complete escape.
func escaped(data []byte) (code rune, ok bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 32)
	return rune(n), err == nil
}
