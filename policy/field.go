package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/yamlfile"
)

// fieldError is an error with the path of a field, such as windows.1.limit.
type fieldError struct {
	path []string
	err  error
}

func (e *fieldError) Error() string { return e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

// atField prepends path to the error's path. A nil error stays nil.
func atField(err error, path ...string) error {
	if err == nil {
		return nil
	}
	if inner, ok := err.(*fieldError); ok {
		return &fieldError{path: append(path, inner.path...), err: inner.err}
	}
	return &fieldError{path: path, err: err}
}

// atOwnField adds the field in an engine error to the error's path.
func atOwnField(err error) error {
	if input, ok := err.(*engine.InputError); ok {
		return atField(input, input.Field)
	}
	return err
}

func invalid(field, value, accepted string) error {
	return atField(engine.InvalidInput(field, value, accepted), field)
}

func invalidWord(field, word, accepted string) error {
	return invalidMeant(field, word, yamlfile.Nearest(word, strings.Split(accepted, ", ")), accepted)
}

// invalidMeant returns the error for a text that is not accepted. The argument meant is the accepted text that was
// probably meant, or "".
func invalidMeant(field, text, meant, accepted string) error {
	return atField(&engine.InputError{Field: field, Value: engine.Quote(text), Accepted: accepted, Meant: meant}, field)
}

// Explain describes an error in a limit that was sent in a request field. path is the invalid field as the caller
// wrote it, such as limit.windows.1.window. detail is the error message with that path.
func Explain(field string, err error) (path, detail string) {
	last := field
	path = field
	if inField, ok := errors.AsType[*fieldError](err); ok {
		last = inField.path[len(inField.path)-1]
		path += "." + strings.Join(inField.path, ".")
	}
	input, ok := errors.AsType[*engine.InputError](err)
	if ok && input.Field == last {
		return path, path + " is " + input.Value + "; accepted: " + input.Accepted
	}
	return path, path + ": " + strings.TrimPrefix(err.Error(), "headgate: ")
}

// list is a JSON array that rejects unknown fields in its elements. Unlike encoding/json, it includes the element's
// index in type errors.
type list[T any] []T

// UnmarshalJSON reads the array.
func (l *list[T]) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '[' {
		var none []T // null, or an error
		return json.Unmarshal(data, &none)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if _, err := decoder.Token(); err != nil {
		return err
	}
	*l = make([]T, 0, min(bytes.Count(data, []byte{','}), engine.MaxCharges)+1)
	for i := 0; decoder.More(); i++ {
		*l = append(*l, *new(T))
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
