package policy

import (
	"errors"
	"strings"

	"github.com/headgate/headgate/policy/yamlfile"
)

// Error is one error in a file, with its position.
type Error = yamlfile.Error

// Errors are the errors in a file in the order of their positions, at most 100.
type Errors = yamlfile.Errors

// locate adds a position to an error: the place of the deepest element of the error's path that the file contains. An
// error without a path gets the zero Place.
func locate(name string, root *yamlfile.Node, err error) *Error {
	f, ok := errors.AsType[*fieldError](err)
	if !ok {
		return yamlfile.ErrorAt(name, yamlfile.Place{}, messageOf(err))
	}
	return yamlfile.ErrorAt(name, root.Find(f.path...), messageOf(err))
}

// messageOf returns the path of the invalid field and the error's text.
func messageOf(err error) string {
	message := strings.TrimPrefix(err.Error(), "headgate: ")
	if f, ok := errors.AsType[*fieldError](err); ok && len(f.path) > 0 {
		return strings.Join(f.path, ".") + ": " + message
	}
	return message
}
