package yamlfile

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one error in a file, with its position.
type Error struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// Message describes the mistake and the accepted values.
	Message string `json:"message"`
	// Excerpt shows the lines around the position, with a marker. It can be "".
	Excerpt string `json:"-"`

	placed bool // whether Line and Column are a position in the file
}

// Error returns the error as one line: file:line:column: message.
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// ErrorAt returns an error at a place. If the place is unknown, the error is at the first character of the file.
func ErrorAt(name string, at Place, message string) *Error {
	return &Error{File: name, Line: max(at.Line, 1), Column: max(at.Column, 1), Message: message, placed: at.Line > 0}
}

// Errors are the errors in a file, sorted by position. There are at most 100.
type Errors []*Error

// Error returns one line per error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the individual errors.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i := range e {
		all[i] = e[i]
	}
	return all
}

const maxErrors = 100

// Add appends an error. If there are already far more errors than will be shown, it drops the error.
func (e *Errors) Add(err *Error) {
	if len(*e) < 100*maxErrors {
		*e = append(*e, err)
	}
}

// Sorted returns the first errors by position, with excerpts from the file. It returns nil if there are no errors.
func (e Errors) Sorted(data []byte) error {
	if len(e) == 0 {
		return nil
	}
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Message, b.Message))
	})
	e = e[:min(len(e), maxErrors)]
	lines := strings.Split(string(bytes.TrimPrefix(data, byteOrderMark)), "\n")
	for _, one := range e {
		if one.placed {
			one.Excerpt = excerpt(lines, one.Line, one.Column)
		}
	}
	return e
}

// The size of an excerpt: the number of lines before and after the error's line, and of characters per line.
const (
	excerptLines = 2
	excerptWidth = 120
)

// excerpt shows the lines around a position, with a marker under it. Only the part of a long line around the position
// is shown.
func excerpt(lines []string, line, column int) string {
	var b strings.Builder
	for n := max(line-excerptLines, 1); n <= min(line+excerptLines, len(lines)); n++ {
		text := []rune(strings.TrimSuffix(lines[n-1], "\r"))
		from := min(max(column-excerptWidth*3/4, 0), len(text))
		shown := string(text[from:min(from+excerptWidth, len(text))])
		if n != line {
			fmt.Fprintf(&b, "  %2d | %s\n", n, shown)
			continue
		}
		fmt.Fprintf(&b, "> %2d | %s\n%s^\n", n, shown, strings.Repeat(" ", len(fmt.Sprintf("> %2d | ", n))+max(column-1-from, 0)))
	}
	return strings.TrimRight(b.String(), "\n")
}
