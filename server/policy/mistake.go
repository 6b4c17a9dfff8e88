package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one mistake in a file, with its place.
type Error struct {
	File         string
	Line, Column int
	// Message says what is wrong and what is accepted.
	Message string
	// Excerpt is the lines around the place, marked; "" where there are none.
	Excerpt string
}

// Error is one line: file:line:column: message.
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Errors are the mistakes of a file, in the order of their places, 100 at most.
type Errors []*Error

// Error has a line for each.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns each mistake.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i := range e {
		all[i] = e[i]
	}
	return all
}

const mostErrors = 100

// sorted returns the mistakes in order, or nil where there is none.
func (e Errors) sorted() error {
	if len(e) == 0 {
		return nil
	}
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Message, b.Message))
	})
	return e[:min(len(e), mostErrors)]
}
