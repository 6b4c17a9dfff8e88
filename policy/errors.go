package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// Error is one error in a file, with its position.
type Error struct {
	File         string
	Line, Column int
	// Message says what is wrong and what is accepted.
	Message string
	// Excerpt shows the lines around the position, with a mark; "" if there are none.
	Excerpt string

	at *token.Token
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

// add appends an error, and drops it where so many were found that they are no longer
// all from the beginning of the file.
func (e *Errors) add(err *Error) {
	if len(*e) < 100*maxErrors {
		*e = append(*e, err)
	}
}

// sorted returns the errors in the order of their positions, or nil if there are none.
func (e Errors) sorted() error {
	if len(e) == 0 {
		return nil
	}
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Message, b.Message))
	})
	e = e[:min(len(e), maxErrors)]
	for _, one := range e {
		one.Excerpt = excerpt(one.at)
	}
	return e
}
