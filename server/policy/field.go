package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/headgate/headgate"
)

// fieldError places an error at a field: a path such as windows.1.limit.
type fieldError struct {
	path []string
	err  error
}

func (e *fieldError) Error() string { return e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

func at(err error, path ...string) error {
	if err == nil {
		return nil
	}
	if inner, ok := err.(*fieldError); ok {
		return &fieldError{path: append(path, inner.path...), err: inner.err}
	}
	return &fieldError{path: path, err: err}
}

// atOwn places an error of a limit's constructor at the field that it names.
func atOwn(err error) error {
	if input, ok := err.(*headgate.InputError); ok {
		return at(input, input.Field)
	}
	return err
}

func refuse(field, value, accepted string) error {
	return at(&headgate.InputError{Field: field, Value: value, Accepted: accepted}, field)
}

// Explain says what is wrong with a limit that a request has in a field. path is
// the field at fault as the caller wrote it, such as limit.windows.1.window;
// detail is a sentence that names it.
func Explain(field string, err error) (path, detail string) {
	own := field
	path = field
	if placed, ok := errors.AsType[*fieldError](err); ok {
		own = placed.path[len(placed.path)-1]
		path += "." + strings.Join(placed.path, ".")
	}
	input, ok := errors.AsType[*headgate.InputError](err)
	if ok && input.Field == own {
		return path, path + " is " + input.Value + "; accepted: " + input.Accepted
	}
	return path, path + ": " + strings.TrimPrefix(err.Error(), "headgate: ")
}

// maxDepth is more than any limit needs: fields, all, fields, windows, fields.
const maxDepth = 8

// deep reports whether a JSON value is nested deeper than maxDepth. Each level of
// all is read anew, so the time would grow with the depth times the length.
func deep(data []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(data) && depth <= maxDepth; i++ {
		switch c := data[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == '{' || c == '['):
			depth++
		case !quoted && (c == '}' || c == ']'):
			depth--
		}
	}
	return depth > maxDepth
}

// list is an array of JSON whose type errors name the element's place, which
// encoding/json leaves out. It refuses fields that T does not know.
type list[T any] []T

// UnmarshalJSON reads the array.
func (l *list[T]) UnmarshalJSON(data []byte) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil || raw == nil {
		return err
	}
	*l = make([]T, len(raw))
	for i := range raw {
		decoder := json.NewDecoder(bytes.NewReader(raw[i]))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&(*l)[i])
		if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			mismatch.Field = strings.TrimSuffix(strconv.Itoa(i)+"."+mismatch.Field, ".")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
