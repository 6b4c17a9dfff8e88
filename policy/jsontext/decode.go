package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/headgate/headgate/engine"
)

// Error is an error in JSON text.
type Error struct {
	// Field is the path of the invalid field, such as limit.rate. It can be "".
	Field string
	// Detail is the error message. If there is a field, it begins with the field's name.
	Detail string
	// Unknown is true if Field is not a known field.
	Unknown bool
}

func (e *Error) Error() string { return e.Detail }

// Decode decodes the single value in data, which a [Scanner] has accepted, into v. It returns an error for input that
// encoding/json would misread or drop: invalid UTF-8, unknown fields, and text after the value. Messages refer to the
// value by name, for example as body. The error is an [*Error].
func Decode(name string, data []byte, v any) error {
	if err := Check(data); err != nil {
		return &Error{Detail: name + ": " + err.Error()}
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return ErrorOf(name, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return &Error{Detail: name + " must be one JSON object with nothing after it"}
	}
	return nil
}

// unknownField is the start of encoding/json's error for an unknown field. The field's quoted name follows.
const unknownField = "json: unknown field "

// ErrorOf rewords an encoding/json error for an API. The new error names the field as the client wrote it, and the
// accepted values.
func ErrorOf(name string, err error) *Error {
	var own *Error
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	var input *engine.InputError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &mismatch):
		field := withoutTypes(mismatch.Field)
		if field != "" {
			name = engine.Cut(field)
		}
		return &Error{Field: engine.Cut(field), Detail: fmt.Sprintf("%s must not be a JSON %s; accepted: %s", name, mismatch.Value, accepted(mismatch))}
	case errors.As(err, &input):
		return &Error{Field: input.Field, Detail: input.Error()}
	case errors.As(err, &syntax):
		return &Error{Detail: name + " is not JSON: " + syntax.Error() + " at byte " + strconv.FormatInt(syntax.Offset, 10)}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Detail: name + " is not JSON: it ends too early"}
	}
	if quoted, ok := strings.CutPrefix(err.Error(), unknownField); ok {
		name, _ := strconv.Unquote(quoted)
		return unknown(name)
	}
	return &Error{Detail: strings.TrimPrefix(err.Error(), "json: ")}
}

// withoutTypes removes the names of embedded Go types, which encoding/json puts into paths. Unlike names in the APIs,
// they contain capital letters.
func withoutTypes(path string) string {
	names := slices.DeleteFunc(strings.Split(path, "."), func(name string) bool { return strings.ContainsFunc(name, unicode.IsUpper) })
	return strings.Join(names, ".")
}

// Limit is the type of a limit in errors about another JSON value.
type Limit struct{}

// accepted returns the name of the JSON type that a field accepts.
func accepted(mismatch *json.UnmarshalTypeError) string {
	if mismatch.Type == reflect.TypeFor[Limit]() {
		return `object, or string such as "5/1m"`
	}
	switch mismatch.Type.Kind() {
	case reflect.String:
		return "string"
	case reflect.Int64:
		if number, ok := strings.CutPrefix(mismatch.Value, "number "); ok && !strings.ContainsAny(number, ".eE") {
			return "whole number up to 9223372036854775807"
		}
		return "whole number"
	case reflect.Slice:
		return "array"
	case reflect.Bool:
		return "true or false"
	default:
		return "object"
	}
}
