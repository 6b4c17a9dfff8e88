package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one error in a file, with its position.
type Error struct {
	File         string
	Line, Column int
	// Message says what is wrong and what is accepted.
	Message string
	// Excerpt shows the lines around the position, with a mark; "" if there are none.
	Excerpt string
}

// Error returns one line: file:line:column: message.
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Errors are the errors in a file in the order of their positions, at most 100.
type Errors []*Error

// Error returns a line for each error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns each error.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i := range e {
		all[i] = e[i]
	}
	return all
}

const maxErrors = 100

// sorted returns the errors in the order of their positions, or nil if there are none.
func (e Errors) sorted() error {
	if len(e) == 0 {
		return nil
	}
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Message, b.Message))
	})
	return e[:min(len(e), maxErrors)]
}
